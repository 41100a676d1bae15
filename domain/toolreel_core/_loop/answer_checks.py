"""Checks of an answer before it becomes final: what is still to be done, and whether what it claims was done.

A check asks the model again, which is a turn like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop.weak_models import next_step, restatement
from toolreel_core._protocol import Memory, NudgeReason, State

# Claims in an answer that no call supports: it says "I have sent it", and no tool that sends has succeeded.
#
# Nothing is guessed from meaning. A word such as "sent" counts only if an offered tool that has an effect
# bears a verb in its name that this word is the past of, no tool of those has succeeded in the exchange, and
# the word is in a sentence that states it: no negation, question, condition or plan.


_PASTS: Final = {
    "add": "added", "append": "added appended", "archive": "archived", "assign": "assigned",
    "book": "booked reserved", "buy": "bought ordered purchased", "cancel": "cancelled canceled",
    "close": "closed", "copy": "copied", "create": "created added scheduled", "delete": "deleted removed",
    "deploy": "deployed", "edit": "edited updated changed", "email": "emailed sent", "enable": "enabled",
    "disable": "disabled", "insert": "inserted added", "install": "installed", "invite": "invited",
    "mail": "mailed sent", "merge": "merged", "move": "moved", "notify": "notified informed",
    "open": "opened", "order": "ordered", "patch": "patched updated changed", "pay": "paid",
    "post": "posted published sent", "publish": "published", "refund": "refunded",
    "remove": "removed deleted", "rename": "renamed", "replace": "replaced",
    "reserve": "reserved booked", "save": "saved stored",
    "schedule": "scheduled created", "send": "sent notified", "start": "started", "stop": "stopped",
    "store": "stored saved", "submit": "submitted", "transfer": "transferred", "turn": "turned",
    "update": "updated changed", "upload": "uploaded", "write": "written saved wrote",
}  # fmt: skip
"""The pasts of verbs in tools' names. A past of several verbs is supported by a call of any of them."""

_SENTENCE: Final = lazy_pattern(r"[^.!?\n]+[.!?]?")
"""A sentence, roughly: a full stop within a name only makes it shorter."""
_WORD: Final = lazy_pattern(r"[A-Za-z]+(?:['’][a-z]+)?")
"""A word, with its contraction: the negation in ``haven't`` counts."""
_PARTS: Final = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""The words in a tool's name in camel case."""
_HONEST: Final = frozenset({
    "not", "no", "never", "nothing", "none", "cannot", "unable", "without", "failed", "fail", "error", "yet",
    "if", "once", "when", "after", "before", "until", "unless", "already",
    "will", "would", "could", "should", "can", "may", "might", "shall", "must", "please", "be", "want",
    "need", "needs", "was", "were", "you", "you've", "you’ve", "he", "she", "they",
})  # fmt: skip
"""Words behind which nothing is claimed: a negation, a condition, a plan, or a report of what others did or
what was before. "It was sent yesterday" may report what a tool has found; "it has been sent" claims it."""
_CLAIMING: Final = frozenset({
    "i", "i've", "i’ve", "we", "we've", "we’ve", "have", "has", "been", "successfully", "now",
})  # fmt: skip
"""Words of which one stands before a past that is a claim, unless the past opens the sentence."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What an answer claims to have done."""

    words: str
    """The sentence, shortened."""
    tools: tuple[str, ...]
    """Outward names of the tools of which one would have done it."""


def claimed_effect(state: State, answer: str) -> Claim | None:
    """The first claim of an answer that no successful call supports."""
    tools = [tool for tool in state.present.tools.definitions if tool.exposed and not tool.read_only]
    done = {call.name for call in state.memory.done}
    for sentence in _SENTENCE.findall(answer):
        for past in _stated_pasts(sentence):
            able = [tool for tool in tools if past in _pasts_of(tool.name)]
            if able and not any(tool.name in done for tool in able):
                return Claim(sentence.strip()[:_LONGEST], tuple(tool.outward for tool in able))
    return None


_LONGEST: Final = 120


def _pasts_of(name: str) -> frozenset[str]:
    """The pasts of the verbs in a tool's name, such as ``send_mail`` or ``createEvent``."""
    verbs = (part.lower() for part in _PARTS.findall(name))
    return frozenset(past for verb in verbs for past in _PASTS.get(verb, "").split())


def _stated_pasts(sentence: str) -> Iterable[str]:
    """The pasts that a sentence states as done."""
    if sentence.endswith("?"):
        return
    words = [word.lower() for word in _WORD.findall(sentence)]
    for place, word in enumerate(words):
        before = words[:place]
        if any(each in _HONEST or each.endswith(("n't", "n’t", "'ll", "’ll")) for each in before):
            return
        if word in _ALL_PASTS and (not before or not _CLAIMING.isdisjoint(before)):
            yield word


_ALL_PASTS: Final = frozenset(past for pasts in _PASTS.values() for past in pasts.split())


_AGAIN: Final = "If all of it is done, give your answer to the user again, in full."


@dataclass(frozen=True, slots=True)
class Check:
    """A question about an answer."""

    why: NudgeReason
    question: str
    memory: Memory
    """The memory after it is asked."""


def check_of(state: State, answer: str) -> Check | None:
    """The check that an answer needs; ``None`` if it is final.

    :param answer: its text; of an answer by a call, the arguments
    """
    config, memory = state.present.config, state.memory
    if config.claim_check and not memory.claims_checked and (claim := claimed_effect(state, answer)):
        asked = replace(memory, claims_checked=True)
        question = (
            f'Your answer says "{claim.words}", but no call of {" or ".join(claim.tools)} has succeeded. '
            "If that is to be done, make the call now. If not, answer again and say what was not done."
        )
        return Check("unsupported_claim", question, asked)
    if memory.final_checks < config.final_check:
        asked = replace(memory, final_checks=memory.final_checks + 1)
        question = f"Check this before it is final.\n{restatement(state)}\n{next_step(state)}\n{_AGAIN}"
        return Check("final_check", question, asked)
    return None
