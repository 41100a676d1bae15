"""Findings: what the answers to a question show, and whether they agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import Json, Tree, tree_at
from toolreel_core._probe.known_facts import RICHER
from toolreel_core._probe.observation import Answered
from toolreel_core._probe.probing import Probing, Try
from toolreel_core._probe.question import Group
from toolreel_core._probe.verdict import Word
from toolreel_core._text_calls import BARE

KIMI: Final = re.compile(r"functions\.[\w-]+:\d+")
"""The ids of Kimi (Kimi-K2-Instruct: tool_call_guidance.md)."""


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
    def stable(self) -> bool:
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
    asked = (
        _finding(question.name, question.group, tries, decides=question.decides)
        for question in probing.questions
        if (tries := probing.of(question.name))
    )
    return *asked, *observed(probing)


def _finding(name: str, group: Group, tries: Sequence[Try], *, decides: bool) -> Finding:
    counts = Counter(each.verdict.word for each in tries)
    word = counts.most_common(1)[0][0]
    detail = next(each.verdict.detail for each in tries if each.verdict.word == word)
    requests = tuple(number for each in tries for number in each.requests)
    return Finding(name, group, word, detail, requests, tuple(counts.items()), decides)


def observed(probing: Probing) -> tuple[Finding, ...]:
    """What was seen in the answers, whatever was asked."""
    answers = [
        (each.requests[-1], each.observation)
        for each in probing.tries
        # What asks a model to think shows nothing about one that was not asked to.
        if isinstance(each.observation, Answered) and each.question not in RICHER
    ]
    found = (
        _seen("reasoning", "history", answers, _reasoning),
        _seen("call_id_form", "tools", answers, _id_form),
        _seen("text_calls", "tools", answers, _dialect),
        _seen("text_calls_in_reasoning", "tools", answers, _in_reasoning),
        _seen("signatures", "history", answers, _signature),
        _seen("stop_reasons", "tools", answers, _stop_reason),
        _seen("cost", "basics", answers, _cost),
    )
    return tuple(finding for finding in found if finding)


_Answers = Sequence[tuple[int, Answered]]


def _seen(name: str, group: Group, answers: _Answers, see: Callable[[Answered], str]) -> Finding | None:
    """What a look at each answer gave, the most frequent first; ``None`` where it gave nothing."""
    given = [(number, word) for number, each in answers if (word := see(each))]
    if not given:
        return None
    counts = Counter(word for _, word in given)
    words = ", ".join(f"{word} ({count})" for word, count in counts.most_common())
    first = tuple(sorted(number for number, _ in given)[:3])
    return Finding(name, group, counts.most_common(1)[0][0], words, first)


def words_of(finding: Finding) -> tuple[str, ...]:
    """The words that were observed, the most frequent first.

    >>> words_of(Finding("text_calls", "tools", "llama_json", "llama_json (4), react (1)", (1,)))
    ('llama_json', 'react')
    """
    return tuple(part.rpartition(" (")[0] for part in finding.detail.split(", "))


def _reasoning(answered: Answered) -> str:
    message = answered.message
    fields = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "thinking")
    return next((name for name in fields if message.get(name)), "")


def _id_form(answered: Answered) -> str:
    if not answered.calls:
        return ""
    ids: list[Json] = [call.get("id") for call in answered.calls]
    first = ids[0]
    if not isinstance(first, str) or not first:
        return "none"
    if len(set(map(str, ids))) < len(ids):
        return "one id for several calls"
    if KIMI.fullmatch(first):
        return "functions.NAME:NUMBER"
    return re.sub(r"[0-9a-zA-Z]{5,}", "…", first) if first[:5] == "call_" else f"{len(first)} characters"


def _dialect(answered: Answered) -> str:
    written = [call.provenance for call in answered.reply.calls if call.from_text]
    return written[0].removeprefix("text:") if written else ""


def _in_reasoning(answered: Answered) -> str:
    """Whether a call in text is in the reasoning alone."""
    has_text = bool(str(answered.message.get("content") or "").strip())
    return "the reasoning" if _dialect(answered) and not has_text and _reasoning(answered) else ""


def _signature(answered: Answered) -> str:
    for call in answered.calls:
        for vendor in ("google", "vertex"):
            if tree_at(call, "extra_content", vendor).get("thought_signature"):
                return "extra_content"
    details = answered.message.get("reasoning_details")
    entries: Sequence[Json] = details if isinstance(details, list) else ()
    return "reasoning_details" if any(map(_is_geminis, entries)) else ""


def _is_geminis(entry: Json) -> bool:
    match entry:
        case {"format": str() as form}:
            return form.startswith("google-gemini")
        case _:
            return False


def _stop_reason(answered: Answered) -> str:
    if not answered.calls:
        return ""
    reason = answered.choice.get("finish_reason")
    return reason if isinstance(reason, str) and reason else "none"


def _cost(answered: Answered) -> str:
    return "usage.cost" if answered.reply.usage.cost is not None else ""


def bare(dialects: Sequence[str]) -> tuple[str, ...]:
    """The dialects that are not read unless they are named, in the order of all dialects.

    >>> bare(("hermes_json", "react", "llama_json"))
    ('llama_json', 'react')
    """
    return tuple(name for name in BARE if name in dialects)


def trees(findings: Sequence[Finding]) -> list[Tree]:
    """The findings as JSON."""
    return [
        {
            "name": each.name,
            "group": each.group,
            "finding": each.word,
            "detail": each.detail,
            "requests": list(each.requests),
            "stable": each.stable,
            **({"answers": dict(each.words)} if each.words else {}),
        }
        for each in findings
    ]
