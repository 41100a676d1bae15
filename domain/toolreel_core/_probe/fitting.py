"""From findings to settings: what a provider's preset has to say, each with the finding that says so.

A finding that repeated answers disagree about settles nothing: then the careful default holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from toolreel_core._jsontext import Json, Tree
from toolreel_core._plan import Preset
from toolreel_core._probe.finding import Finding
from toolreel_core._probe.question import ENCRYPTED, settled_form
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
        provider = Provider.of({"wire_form": self.form, self.key: self.value})
        return bool(getattr(provider, self.key) == self.value)


@dataclass(frozen=True, slots=True)
class Found:
    """The stable findings, by name."""

    by_name: Mapping[str, Finding] = field(default_factory=dict[str, Finding])

    def word(self, name: str) -> str:
        """The verdict on a question; empty if there is none."""
        finding = self.by_name.get(name)
        return str(finding.word) if finding else ""

    def because(self, *names: str) -> str:
        """What these findings say, in a sentence."""
        told = (self.by_name[name] for name in names if name in self.by_name)
        return "; ".join(f"{each.name}: {each.word} ({each.evidence}): {each.detail}" for each in told)


_Decided: TypeAlias = tuple[Json, tuple[str, ...]] | None
"""The value of a setting, and the findings that say so; ``None`` if they say nothing."""
_Rule: TypeAlias = Callable[[Found], _Decided]


def settings(findings: Sequence[Finding]) -> tuple[Setting, ...]:
    """The settings that the findings decide, also where they are those of the defaults."""
    found = Found({each.name: each for each in findings if each.stable and each.word not in {"lost", "cut"}})
    settled = settled_form(found.word)
    form = settled[0] if settled else "chat_completions"
    decided = (
        Setting(section, key, value[0], found.because(*value[1]), form)
        for (section, key), rule in _RULES.items()
        if (value := rule(found))
    )
    return tuple(each for each in decided if each.can_be_set)


def preset_tree(decided: Sequence[Setting], about: str, day: str, evidence: Sequence[str]) -> Tree:
    """The preset with all settings that differ from the defaults, as a catalogue has it."""
    kept = [each for each in decided if not each.is_default]
    sections: dict[str, Json] = {}
    for section in _SECTIONS:
        own = {each.key: each.value for each in kept if each.section == section}
        sections |= {section: own} if own else {}
    because: Tree = {each.key: each.because for each in kept}
    head: Tree = {"about": about, "evidence": [*evidence], **({"verified_on": day} if day else {})}
    return {**head, **sections, **({"because": because} if because else {})}


def _first_row(*rows: tuple[str, Mapping[str, Json]]) -> _Rule:
    """The value of the first row that has one: names of findings, of which the last decides by its word."""

    def rule(found: Found) -> _Decided:
        for names, values in rows:
            *_, decides = told = tuple(names.split())
            if (word := found.word(decides)) in values:
                return values[word], told
        return None

    return rule


def _value_by_word(name: str, values: Mapping[str, Json]) -> _Rule:
    return _first_row((name, values))


def _value_if_all_taken(found: Found, names: tuple[str, ...], value: Json) -> _Decided:
    return (value, names) if all(found.word(name) == "accepted" for name in names) else None


def _parallel_calls_rule(found: Found) -> _Decided:
    names = ("parallel_tool_calls", "several_calls")
    match found.word("parallel_tool_calls"):
        case "refused":
            return "no", names[:1]
        case "several_calls":
            return "no", names
        case "one_call":
            # A model that makes one call anyway shows nothing.
            return ("yes", names) if found.word("several_calls") == "several_calls" else None
        case _:
            return None


def _required_call_rule(found: Found, *, thinking: bool) -> _Decided:
    values: Mapping[str, Json] = {"called": "yes", "ignored": "no", "refused": "no"}
    word = found.word("tool_choice_required")
    # Where a model thinks, a refusal says nothing about the same model when it does not.
    if word not in values or (found.word("reasoning") == "") == thinking:
        return None
    return values[word], ("tool_choice_required", *(("reasoning",) if thinking else ()))


def _format_with_tools(found: Found) -> _Decided:
    values = {"called": "yes", "held": "no", "answered": "no", "refused": "no"}
    return (
        _value_by_word("json_schema_with_tools", values)(found) if found.word("tools") == "called" else None
    )


def _reasoning_rule(after_answer: Json, after_call: Json, *rest: tuple[str, Mapping[str, Json]]) -> _Rule:
    """A rule about reasoning without which a turn was not taken back."""
    return _first_row(
        ("assistant_turn assistant_turn_reasoning", {"accepted": after_answer}),
        ("tool_turn tool_turn_reasoning", {"accepted": after_call}),
        *rest,
    )


def _single_system_rule(found: Found) -> _Decided:
    names = ("two_systems", "late_system")
    refused = tuple(name for name in names if found.word(name) == "refused")
    if refused:
        return True, refused
    return _value_if_all_taken(found, names, value=False)


def _schema_transform_rule(found: Found) -> _Decided:
    names = {"schema_keywords": "gemini_subset", "schema_refs": "inline_defs", "strict_tools": "strip_strict"}
    for name, transform in names.items():
        if found.word(name) == "refused":
            return transform, (name,)
    return _value_if_all_taken(found, tuple(names), "none")


def _max_tokens_field(found: Found) -> _Decided:
    names = ("max_tokens", "max_completion_tokens")
    kept = [name for name in names if found.word(name) == "honoured"]
    lost = [name for name in names if found.word(name) in {"refused", "ignored"}]
    if len(kept) == 1 and lost:
        return kept[0], names
    return ("", names) if len(kept) > 1 else None


def _control_tokens_rule(found: Found) -> _Decided:
    names = ("control_tokens", "texts_like_them")
    counts = list[int]()
    for name in names:
        digits = found.by_name[name].detail.partition(" ")[0] if found.word(name) == "counted" else ""
        counts.append(int(digits) if digits.isdecimal() else 0)
    if 0 in counts:
        return None
    # A control token that is read as one takes 1 token instead of about 6, four times in the text.
    return counts[1] - counts[0] >= 12, names


def _stream_options_rule(found: Found) -> _Decided:
    settled = settled_form(found.word)
    if settled and settled[0] != "chat_completions":
        return None  # the other forms always count
    if found.word("stream") == "streamed_with_usage":
        return "yes", ("stream",)
    streams = found.word("stream_plain") in {"streamed", "streamed_with_usage"}
    return ("no", ("stream", "stream_plain")) if streams and found.word("stream") == "refused" else None


def _dialects_rule(found: Found) -> _Decided:
    finding = found.by_name.get("text_calls")
    seen = [part.rpartition(" (")[0] for part in finding.detail.split(", ")] if finding else []
    # Those that are not read unless they are named, in the order of all dialects.
    named = [name for name in BARE if name in seen]
    return (["marked", *named], ("text_calls",)) if named else None


def _constrained_calls_rule(found: Found) -> _Decided:
    unreliable = found.word("tools") in {"text_call", "answered"}
    held = unreliable and found.word("json_schema_with_tools") == "held"
    return ("response_format", ("tools", "json_schema_with_tools")) if held else None


_HONOURED: Final[Mapping[str, Json]] = {"honoured": "yes", "ignored": "no", "refused": "no"}
_RULES: Final[Mapping[tuple[Section, str], _Rule]] = {
    ("provider", "wire_form"): lambda found: settled_form(found.word),
    ("provider", "supports_tools"): _value_by_word("tools", {"called": "yes", "refused": "no"}),
    ("provider", "supports_parallel_tool_calls"): _parallel_calls_rule,
    ("provider", "supports_required"): lambda found: _required_call_rule(found, thinking=False),
    ("provider", "supports_required_while_thinking"): lambda found: _required_call_rule(found, thinking=True),
    ("provider", "supports_response_format"): _value_by_word("response_format", _HONOURED),
    ("provider", "supports_json_schema"): _value_by_word("json_schema", _HONOURED),
    ("provider", "supports_response_format_with_tools"): _format_with_tools,
    ("provider", "supports_stream_options"): _stream_options_rule,
    ("provider", "supports_images"): _value_by_word("images", {"seen": "yes", "refused": "no"}),
    ("provider", "images_in_tool_results"): _value_by_word("image_result", {"seen": "yes", "refused": "no"}),
    ("provider", "reports_cost"): _value_by_word("cost", {"usage.cost": "yes"}),
    ("provider", "thinking"): lambda found: (True, ("reasoning",)) if found.word("reasoning") else None,
    ("provider", "reasoning_field"): _reasoning_rule("reasoning_content", "reasoning_content"),
    ("provider", "reasoning_replay"): _value_by_word(
        "reasoning_echo", {"refused": "never", "accepted": "verbatim"}
    ),
    ("provider", "reasoning_required_on"): _reasoning_rule(
        "all_assistant", "tool_turns", ("tool_turn", {"accepted": "none"})
    ),
    ("provider", "reasoning_placeholder"): _reasoning_rule(" ", " "),
    ("provider", "signature_channel"): _first_row(
        ("tool_turn tool_turn_signature", {"accepted": "extra_content"}),
        ("signatures", {name: name for name in ("extra_content", "reasoning_details")}),
    ),
    ("provider", "pin_upstream"): _value_by_word("signatures", {"reasoning_details": True}),
    ("provider", "tool_turn_content"): _first_row(
        *(
            (name, {"accepted": "empty"})
            for name in ("tool_turn", "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name")
        ),
        ("tool_turn content_null", {"accepted": "null"}),
        ("tool_turn content_absent", {"accepted": "omit"}),
        ("tool_turn content_space", {"accepted": "space"}),
    ),
    ("provider", "assistant_after_tool"): _value_by_word(
        "user_after_tool", {"refused": True, "accepted": False}
    ),
    ("provider", "single_leading_system"): _single_system_rule,
    ("provider", "tool_result_name"): _value_by_word("tool_turn_name", {"accepted": True}),
    ("provider", "id_style"): _first_row(
        ("call_ids", {"refused": "alnum9"}),
        ("call_id_form", {"functions.NAME:NUMBER": "kimi"}),
        ("call_ids", {"accepted": "keep"}),
    ),
    ("provider", "schema_transform"): _schema_transform_rule,
    ("provider", "max_tokens_field"): _max_tokens_field,
    ("provider", "temperature_rule"): _first_row(
        ("temperature", {"refused": "drop"}), ("temperature_high", {"refused": "max1", "accepted": "free"})
    ),
    ("provider", "special_token_guard"): _control_tokens_rule,
    ("request_overrides", "include"): _value_by_word("responses_reasoning", {"carried": [*ENCRYPTED]}),
    ("config", "text_dialects"): _dialects_rule,
    ("config", "dialects_in_reasoning"): _value_by_word("text_calls_in_reasoning", {"the reasoning": True}),
    ("config", "constrained_calls"): _constrained_calls_rule,
}

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


def compared(decided: Sequence[Setting], preset: Preset) -> tuple[Compared, ...]:
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
        if (section, key) in _RULES and (section, key) not in found
    )
    order: tuple[Standing, ...] = ("differs", "added", "agrees", "not_probed")
    return tuple(sorted(rows, key=lambda row: order.index(row.standing)))
