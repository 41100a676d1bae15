"""Findings: what the answers to a question show, and whether they agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import Json, as_tree, items_of, tree_at
from toolreel_core._probe.observation import Answered
from toolreel_core._probe.probing import Probing
from toolreel_core._probe.question import RICHER, Group
from toolreel_core._probe.verdict import Word


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
    """What was seen in the answers, whatever was asked."""
    answers = [
        (each.requests[-1], each.observation)
        for each in probing.tries
        # What asks a model to think shows nothing about one that was not asked to.
        if isinstance(each.observation, Answered) and each.question not in RICHER
    ]
    found = list[Finding]()
    for name, (group, see) in _LOOKS.items():
        if given := [(number, word) for number, each in answers if (word := see(each))]:
            counts = Counter(word for _, word in given).most_common()
            words = ", ".join(f"{word} ({count})" for word, count in counts)
            first = tuple(sorted(number for number, _ in given)[:3])
            found.append(Finding(name, group, counts[0][0], words, first))
    return tuple(found)


def _reasoning_field(answered: Answered) -> str:
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
    if re.fullmatch(r"functions\.[\w-]+:\d+", first):  # Kimi-K2-Instruct: tool_call_guidance.md
        return "functions.NAME:NUMBER"
    return re.sub(r"[0-9a-zA-Z]{5,}", "…", first) if first[:5] == "call_" else f"{len(first)} characters"


def _text_dialect(answered: Answered) -> str:
    written = [call.provenance for call in answered.reply.calls if call.from_text]
    return written[0].removeprefix("text:") if written else ""


def _in_reasoning(answered: Answered) -> str:
    """Whether a call in text is in the reasoning alone."""
    has_text = bool(str(answered.message.get("content") or "").strip())
    return "the reasoning" if _text_dialect(answered) and not has_text and _reasoning_field(answered) else ""


def _signature_place(answered: Answered) -> str:
    for call in answered.calls:
        for vendor in ("google", "vertex"):
            if tree_at(call, "extra_content", vendor).get("thought_signature"):
                return "extra_content"
    formats = (as_tree(each).get("format") for each in items_of(answered.message, "reasoning_details"))
    return "reasoning_details" if any(str(each).startswith("google-gemini") for each in formats) else ""


def _stop_reason(answered: Answered) -> str:
    if not answered.calls:
        return ""
    reason = answered.choice.get("finish_reason")
    return reason if isinstance(reason, str) and reason else "none"


_LOOKS: Final[Mapping[str, tuple[Group, Callable[[Answered], str]]]] = {
    "reasoning": ("history", _reasoning_field),
    "call_id_form": ("tools", _id_form),
    "text_calls": ("tools", _text_dialect),
    "text_calls_in_reasoning": ("tools", _in_reasoning),
    "signatures": ("history", _signature_place),
    "stop_reasons": ("tools", _stop_reason),
    "cost": ("basics", lambda answered: "" if answered.reply.usage.cost is None else "usage.cost"),
}
"""What is looked for in each answer: a word, or an empty text."""
