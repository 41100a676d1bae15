"""From findings to settings: what a provider's preset has to say, each with the finding that says so.

A finding that repeated answers disagree about settles nothing: then the careful default holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from toolreel_core._jsontext import Json, Tree
from toolreel_core._plan import Preset
from toolreel_core._probe.finding import Finding
from toolreel_core._probe.question import FORM_ROWS, Decided, Rows, settled_form, value_of_first_row
from toolreel_core._settings import LoopConfig, Provider, WireForm
from toolreel_core._text_calls import BARE

Section: TypeAlias = Literal["provider", "config", "request_overrides"]
_SECTIONS: Final[tuple[Section, ...]] = get_args(Section)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that findings decide."""

    section: Section
    key: str
    value: Json
    because: str
    """The finding and its requests, in a sentence."""
    form: WireForm = "chat_completions"
    """The form in which the server is asked; it has defaults of its own."""

    @property
    def default(self) -> Json:
        """What holds without it."""
        if self.section == "request_overrides":
            return None
        form = "chat_completions" if self.key == "wire_form" else self.form
        held = LoopConfig() if self.section == "config" else Provider(wire_form=form)
        return getattr(held, self.key)  # type: ignore[no-any-return]

    @property
    def is_default(self) -> bool:
        """Whether it is so without a preset."""
        return self.default == self.value

    @property
    def can_be_set(self) -> bool:
        """Whether it can be said of a server that speaks this form, which decides some settings itself."""
        if self.section != "provider":
            return True
        if self.key == "supports_stream_options" and self.form != "chat_completions":
            return False  # the other forms always count
        provider = Provider.of({"wire_form": self.form, self.key: self.value})
        return bool(getattr(provider, self.key) == self.value)


Rules: TypeAlias = Mapping[Section, Mapping[str, Rows]]
"""The rows that decide each setting of each section, of which the first that holds does."""


def decided_settings(findings: Sequence[Finding], rules: Rules) -> tuple[Setting, ...]:
    """The settings that the findings decide, also where they are those of the defaults."""
    stable = {each.name: each for each in findings if each.is_stable and each.word not in {"lost", "cut"}}
    words = {name: str(each.word) for name, each in stable.items()}
    form = settled_form(words) or "chat_completions"
    found = list[Setting]()
    for section, own in rules.items():
        for key, rows in {**_FIRST.get(section, {}), **own}.items():
            decided = _COMPUTED[key](stable) if key in _COMPUTED else value_of_first_row(rows, words)
            if decided:
                value, names = decided
                because = "; ".join(
                    f"{each.name}: {each.word} ({each.evidence}): {each.detail}"
                    for each in (stable[name] for name in names if name in stable)
                )
                found.append(Setting(section, key, value, because, form))
    return tuple(each for each in found if each.can_be_set)


def preset_tree(decided: Sequence[Setting], about: str, day: str, evidence: Sequence[str]) -> Tree:
    """The preset with all settings that differ from the defaults, as a catalogue has it."""
    changed = [each for each in decided if not each.is_default]
    sections: dict[str, Json] = {}
    for section in _SECTIONS:
        own = {each.key: each.value for each in changed if each.section == section}
        sections |= {section: own} if own else {}
    because: Tree = {each.key: each.because for each in changed}
    head: Tree = {"about": about, "evidence": [*evidence], **({"verified_on": day} if day else {})}
    return {**head, **sections, **({"because": because} if because else {})}


def _special_token_guard(stable: Mapping[str, Finding]) -> Decided | None:
    names = ("control_tokens", "texts_like_them")
    counts = list[int]()
    for finding in filter(None, map(stable.get, names)):
        digits = finding.detail.partition(" ")[0]
        counts += [int(digits)] if finding.word == "counted" and digits.isdecimal() else []
    # A control token that is read as one takes 1 token instead of about 6, four times in the text.
    return (counts[1] - counts[0] >= 12, names) if len(counts) == len(names) else None


def _text_dialects(stable: Mapping[str, Finding]) -> Decided | None:
    finding = stable.get("text_calls")
    seen = [part.rpartition(" (")[0] for part in finding.detail.split(", ")] if finding else []
    # Those that are not read unless they are named, in the order of all dialects.
    named = [name for name in BARE if name in seen]
    return (["marked", *named], ("text_calls",)) if named else None


_COMPUTED: Final[Mapping[str, Callable[[Mapping[str, Finding]], Decided | None]]] = {
    "special_token_guard": _special_token_guard,
    "text_dialects": _text_dialects,
}
_FIRST: Final[Mapping[str, Mapping[str, Rows]]] = {"provider": {"wire_form": FORM_ROWS}}

Standing: TypeAlias = Literal["agrees", "differs", "added", "not_probed"]
"""``added``: found, and the preset leaves it at its default; ``not_probed``: set by the preset, and a probe
could decide it, but no finding does."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One setting in both."""

    key: str
    """With its section, such as ``provider.id_style``."""
    standing: Standing
    preset: Json
    """Its value in the preset, or the default."""
    probed: Json = None
    """Its value by the findings; null where there are none."""
    because: str = ""


def compare_with_preset(decided: Sequence[Setting], preset: Preset, rules: Rules) -> tuple[Compared, ...]:
    """The settings that the findings decide or could, those that differ first."""
    changes = preset.changes()
    rows = list[Compared]()
    for each in decided:
        key, section = f"{each.section}.{each.key}", changes[each.section]
        if each.key in section:
            standing: Standing = "agrees" if section[each.key] == each.value else "differs"
            rows.append(Compared(key, standing, section[each.key], each.value, each.because))
        elif not each.is_default:
            # One word stands for the dialects that are marked, which are the only list that is not empty.
            default = ["marked"] if isinstance(each.default, tuple) else each.default
            rows.append(Compared(key, "added", default, each.value, each.because))
    found = {(each.section, each.key) for each in decided}
    rows += (
        Compared(f"{section}.{key}", "not_probed", value)
        for section in _SECTIONS
        for key, value in changes[section].items()
        if key in {*rules[section], *_FIRST.get(section, ())} and (section, key) not in found
    )
    order: tuple[Standing, ...] = ("differs", "added", "agrees", "not_probed")
    return tuple(sorted(rows, key=lambda row: order.index(row.standing)))
