"""Findings: what the answers to a question show; and the settings that they decide, each with its finding.

A finding that repeated answers disagree about settles nothing: then the careful default holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from toolreel_core._jsontext import Json, Tree, as_tree, list_at, tree_at
from toolreel_core._plan import Preset
from toolreel_core._probe.observation import ProbedReply, dialects_of_text_calls
from toolreel_core._probe.probing import Probing
from toolreel_core._probe.question import (
    FORM_ROWS,
    RICHER,
    Decided,
    Group,
    Rows,
    best_wire_form,
    decision_of_first_matching_row,
)
from toolreel_core._probe.verdict import Word
from toolreel_core._settings import LoopConfig, Provider, WireForm
from toolreel_core._text_calls import BARE


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known about one quirk."""

    name: str
    group: Group
    word: Word | str
    """The verdict that came most often, or a word for what was observed."""
    detail: str
    """What was seen; the words of the server where it refused."""
    requests: tuple[int, ...]
    """The numbers of its requests in the recording."""
    words: tuple[tuple[str, int], ...] = ()
    """How often each verdict came."""
    decides: bool = False

    @property
    def is_stable(self) -> bool:
        """Whether all answers agree."""
        return len(self.words) <= 1

    @property
    def evidence(self) -> str:
        """Where it was seen, in a few words.

        >>> Finding("tools", "tools", "called", "1 structured", (5, 6)).evidence
        'requests 5, 6'
        """
        numbers = ", ".join(map(str, self.requests))
        return f"request{'s' if len(self.requests) > 1 else ''} {numbers}"


def findings(probing: Probing) -> tuple[Finding, ...]:
    """All findings so far: one a question, then what was observed in all answers."""
    found, known = list[Finding](), probing.known.words
    for question in probing.questions:
        if word := known.get(question.name):
            tries = probing.tries_of(question.name)
            detail = next(each.verdict.detail for each in tries if each.verdict.word == word)
            requests = tuple(number for each in tries for number in each.requests)
            words = tuple(probing.words[question.name].items())
            found.append(
                Finding(question.name, question.group, word, detail, requests, words, question.decides)
            )
    return *found, *observed_findings(probing)


def observed_findings(probing: Probing) -> tuple[Finding, ...]:
    seen: dict[tuple[str, Group], list[tuple[str, int]]] = {}
    for each in probing.tries:
        # What asks a model to think shows nothing about one that was not asked to.
        if isinstance(each.observation, ProbedReply) and each.question not in RICHER:
            for name, group, word in _observed_features(each.observation):
                seen.setdefault((name, group), []).extend([(word, each.requests[-1])] if word else [])
    found = list[Finding]()
    for (name, group), given in seen.items():
        counts = Counter(word for word, _ in given).most_common()
        words = ", ".join(f"{word} ({count})" for word, count in counts)
        first = tuple(sorted(number for _, number in given)[:3])
        found += [Finding(name, group, counts[0][0], words, first)] if counts else []
    return tuple(found)


def _observed_features(answered: ProbedReply) -> Iterator[tuple[str, Group, str]]:
    """What is looked for in each answer: a word, or an empty text."""
    message, reply = answered.message, answered.reply
    fields = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "thinking")
    reasoning = next((name for name in fields if message.get(name)), "")
    written = next(iter(dialects_of_text_calls(reply)), "")
    inside = written and reasoning and not str(message.get("content") or "").strip()
    finish = answered.choice.get("finish_reason")
    yield "reasoning", "history", reasoning
    yield "call_id_form", "tools", _call_id_form(answered)
    yield "text_calls", "tools", written
    yield "text_calls_in_reasoning", "tools", "the reasoning" if inside else ""
    yield "signatures", "history", _thought_signature_field(answered)
    stop = finish if isinstance(finish, str) and finish else "none"
    yield "stop_reasons", "tools", stop if answered.calls else ""
    yield "cost", "basics", "" if reply.usage.cost is None else "usage.cost"


def _call_id_form(answered: ProbedReply) -> str:
    if not answered.calls:
        return ""
    ids: list[Json] = [call.get("id") for call in answered.calls]
    first = ids[0]
    if not isinstance(first, str) or not first:
        return "none"
    if len(set(map(str, ids))) < len(ids):
        return "one id for several calls"
    if re.fullmatch(r"functions\.[\w-]+:\d+", first):  # Kimi-K2-Instruct: tool_call_guidance.md
        return "functions.NAME:NUMBER"
    return re.sub(r"[0-9a-zA-Z]{5,}", "…", first) if first[:5] == "call_" else f"{len(first)} characters"


def _thought_signature_field(answered: ProbedReply) -> str:
    for call in answered.calls:
        for vendor in ("google", "vertex"):
            if tree_at(call, "extra_content", vendor).get("thought_signature"):
                return "extra_content"
    formats = (as_tree(each).get("format") for each in list_at(answered.message, "reasoning_details"))
    return "reasoning_details" if any(str(each).startswith("google-gemini") for each in formats) else ""


Section: TypeAlias = Literal["provider", "config", "request_overrides"]
_SECTIONS: tuple[Section, ...] = get_args(Section)


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


SettingRules: TypeAlias = Mapping[Section, Mapping[str, Rows]]
"""The rows that decide each setting of each section; the first row that holds counts."""


def decided_settings(findings: Sequence[Finding], rules: SettingRules) -> tuple[Setting, ...]:
    """The settings that the findings decide, also where they are those of the defaults."""
    stable = {each.name: each for each in findings if each.is_stable and each.word not in {"lost", "cut"}}
    words = {name: str(each.word) for name, each in stable.items()}
    form = best_wire_form(words) or "chat_completions"
    found = list[Setting]()
    for section, own in rules.items():
        for key, rows in {**_FIRST.get(section, {}), **own}.items():
            decided = (
                _COMPUTED[key](stable) if key in _COMPUTED else decision_of_first_matching_row(rows, words)
            )
            if decided:
                value, names = decided
                because = "; ".join(
                    f"{each.name}: {each.word} ({each.evidence}): {each.detail}"
                    for each in (stable[name] for name in names if name in stable)
                )
                found.append(Setting(section, key, value, because, form))
    return tuple(each for each in found if each.can_be_set)


def preset_tree(decided: Sequence[Setting], about: str, day: str, evidence: Sequence[str]) -> Tree:
    tree: dict[str, Any] = {"about": about, "evidence": [*evidence], **({"verified_on": day} if day else {})}
    changed = [each for each in decided if not each.is_default]
    for each in sorted(changed, key=lambda each: _SECTIONS.index(each.section)):
        tree.setdefault(each.section, {})[each.key] = each.value
    because = {each.key: each.because for each in changed}
    return {**tree, "because": because} if because else tree


def _decide_special_token_guard(stable: Mapping[str, Finding]) -> Decided | None:
    names = ("control_tokens", "texts_like_them")
    counts = list[int]()
    for finding in filter(None, map(stable.get, names)):
        digits = finding.detail.partition(" ")[0]
        counts += [int(digits)] if finding.word == "counted" and digits.isdecimal() else []
    # A control token that is read as one takes 1 token instead of about 6, and stands in the text four times:
    # one kind of them makes a difference of about 20.
    return (counts[1] - counts[0] >= 12, names) if len(counts) == len(names) else None


def _decide_text_dialects(stable: Mapping[str, Finding]) -> Decided | None:
    finding = stable.get("text_calls")
    seen = [part.rpartition(" (")[0] for part in finding.detail.split(", ")] if finding else []
    # Those that are not read unless they are named, in the order of all dialects.
    named = [name for name in BARE if name in seen]
    return (["marked", *named], ("text_calls",)) if named else None


_COMPUTED: Mapping[str, Callable[[Mapping[str, Finding]], Decided | None]] = {
    "special_token_guard": _decide_special_token_guard,
    "text_dialects": _decide_text_dialects,
}
_FIRST: Mapping[str, Mapping[str, Rows]] = {"provider": {"wire_form": FORM_ROWS}}

SettingStanding: TypeAlias = Literal["agrees", "differs", "added", "not_probed"]
"""``added``: found, and the preset leaves it at its default; ``not_probed``: set by the preset, and a probe
could decide it, but no finding does."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One setting in both."""

    key: str
    """With its section, such as ``provider.id_style``."""
    standing: SettingStanding
    preset: Json
    """Its value in the preset, or the default."""
    probed: Json = None
    """Its value by the findings; null where there are none."""
    because: str = ""


def compare_with_preset(
    decided: Sequence[Setting], preset: Preset, rules: SettingRules
) -> tuple[Compared, ...]:
    """The settings that the findings decide or could, those that differ first."""
    changes = preset.changes()
    rows = list[Compared]()
    for each in decided:
        section = changes[each.section]
        # One word stands for the dialects that are marked, which are the only list that is not empty.
        default = ["marked"] if isinstance(each.default, tuple) else each.default
        held = section.get(each.key, default)
        standing: SettingStanding = (
            "agrees" if held == each.value else "differs" if each.key in section else "added"
        )
        if each.key in section or not each.is_default:
            rows.append(Compared(f"{each.section}.{each.key}", standing, held, each.value, each.because))
    found = {(each.section, each.key) for each in decided}
    rows += (
        Compared(f"{section}.{key}", "not_probed", value)
        for section in _SECTIONS
        for key, value in changes[section].items()
        if key in {*rules[section], *_FIRST.get(section, ())} and (section, key) not in found
    )
    order: tuple[SettingStanding, ...] = ("differs", "added", "agrees", "not_probed")
    return tuple(sorted(rows, key=lambda row: order.index(row.standing)))
