"""A probe under way: what is asked next, and what an answer changes; frozen, so that it can be replayed.

An adapter sends what :attr:`Probing.ask` says and gives the event to :meth:`Probing.with_answer`, until
there is nothing to ask. The same events in the same order ask the same, so a recording is a probe as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from toolreel_core._jsontext import Tree, canonical
from toolreel_core._plan import OUTPUT_CAPS
from toolreel_core._probe.observation import (
    PASSING,
    STOPPING,
    Observation,
    ProbedReply,
    ProbeFailure,
    observe,
)
from toolreel_core._probe.question import MOST_TOKENS, RICHER, Known, Question
from toolreel_core._probe.verdict import AnswerVerdict, Word
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._settings import WireForm, estimate_tokens_by_bytes

REPEAT = 3
"""How often a question is asked on which a setting hangs. Three answers about a quirk that comes half of the
time disagree in three of four probes, two answers in one of two."""
MOST_REPEATS = 20
"""The largest number that a caller may ask for."""

MOST = 5
"""How often it is asked at least if its answers disagree, to say how often each came."""

_PATIENCE: Mapping[str, int] = {"rate": 3, "unavailable": 2, "broken": 1, "timeout": 0, "too_large": 0}
"""How often the same request is sent again, by what came instead of an answer."""
_LONGEST = 60_000
"""Milliseconds that a server may ask to wait for; it is asked again later, if it wants more."""
_IN_A_ROW = 3
"""After this many requests without an answer, a probe stops: the server is gone, not the quirk found."""

_REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Ask:
    question: Question
    body: Tree
    number: int
    wait_ms: int = 0
    form: WireForm = "chat_completions"


@dataclass(frozen=True, slots=True)
class Try:
    question: str
    requests: tuple[int, ...]
    verdict: AnswerVerdict
    observation: Observation = field(repr=False)


@dataclass(frozen=True, slots=True)
class Probing:
    model: str
    questions: tuple[Question, ...]
    repeat: int = REPEAT
    tries: tuple[Try, ...] = ()
    stopped: ProbeFailure | None = None
    sent: int = 0
    passed: tuple[str, ...] = ()
    """Questions that a recording has no answer to."""
    _detours: tuple[int, ...] = ()
    """The numbers of the requests of the present try that had no answer."""
    _wait_ms: int = 0

    @property
    def ask(self) -> Ask | None:
        if self.stopped:
            return None
        known = self.known
        for question in self.questions:
            if self._is_question_open(question, known):
                body, form = question.body(self.model, known), question.form(known)
                return Ask(question, body, self.sent + 1, self._wait_ms, form)
        return None

    def _is_question_open(self, question: Question, known: Known) -> bool:
        if question.name in self.passed:
            return False
        words = self.words.get(question.name)
        if not words:
            return question.is_applicable(known)
        wanted = self.repeat if question.decides else 1
        if wanted > 1 and len(words.keys() - {"lost"}) > 1:
            wanted = max(MOST, wanted)
        elif "lost" in words:  # one is enough to know that waiting did not help
            return False
        return words.total() < wanted

    @property
    def words(self) -> dict[str, Counter[Word]]:
        found: dict[str, Counter[Word]] = {}
        for each in self.tries:
            found.setdefault(each.question, Counter())[each.verdict.word] += 1
        return found

    def tries_of(self, question: str) -> tuple[Try, ...]:
        return tuple(each for each in self.tries if each.question == question)

    @property
    def known(self) -> Known:
        words: dict[str, Word] = {
            question: given.most_common(1)[0][0] for question, given in self.words.items()
        }
        unasked = (each.observation for each in self.tries if each.question not in RICHER)
        messages = [each.message for each in unasked if isinstance(each, ProbedReply)]
        reasoning = (name for message in messages for name in _REASONING if message.get(name))
        called = (each.observation for each in self.tries_of("tools"))
        own = (each.message_to_send_back for each in called if isinstance(each, ProbedReply) and each.calls)
        return Known(words, next(reasoning, ""), next(own, {}))

    def with_answer(self, ask: Ask, event: ReplyReceived | RequestFailed) -> Probing:
        """The probe after an answer; never raises, whatever a server has sent."""
        observation = observe(event, ask.form)
        here = replace(self, sent=self.sent + 1, _wait_ms=0)
        match observation:
            case ProbeFailure(why) if why in STOPPING:
                return replace(here, stopped=observation)
            case ProbeFailure(why) if why in PASSING:
                return here._retry_or_give_up(ask, observation)
            case _:
                return here._with_observation(ask, observation)

    def with_skipped_question(self, ask: Ask) -> Probing:
        return replace(self, passed=(*self.passed, ask.question.name))

    def _retry_or_give_up(self, ask: Ask, detour: ProbeFailure) -> Probing:
        wait = detour.retry_after_ms if detour.retry_after_ms is not None else 1_000 << len(self._detours)
        if len(self._detours) < _PATIENCE[detour.why] and wait <= _LONGEST:
            return replace(self, _detours=(*self._detours, ask.number), _wait_ms=wait)
        if detour.why == "rate":
            later = f"; it wants {wait // 1000} s between requests" if wait > _LONGEST else ""
            return replace(self, stopped=replace(detour, message=f"{detour.message}{later}"))
        lost = self._with_observation(ask, detour)
        last = [getattr(each.observation, "why", "") in PASSING for each in lost.tries[-_IN_A_ROW:]]
        # The first question is plain: a server that does not answer it answers none.
        gone = ask.question.name == "plain" or (len(last) == _IN_A_ROW and all(last))
        return replace(lost, stopped=replace(detour, why="silent")) if gone else lost

    def _with_observation(self, ask: Ask, observation: Observation) -> Probing:
        verdict = ask.question.verdict(observation)
        done = Try(ask.question.name, (*self._detours, ask.number), verdict, observation)
        return replace(self, tries=(*self.tries, done), _detours=())


_UNLIMITED = 16
"""Tokens of an answer that no field limits; such questions ask for one word."""


class ProbeCost(NamedTuple):
    requests: int
    prompt_tokens: int
    completion_tokens: int


def estimate_remaining_cost(probing: Probing) -> ProbeCost:
    """The requests that are left, if all answers agree; questions that depend on answers count too."""
    known, total = probing.known, ProbeCost(0, 0, 0)
    for question in probing.questions:
        left = max(0, (probing.repeat if question.decides else 1) - len(probing.tries_of(question.name)))
        if question.name not in known.words and not known.holds(question.when):
            left = 0
        body = question.body(probing.model, known)
        limits = (limit for key in OUTPUT_CAPS if isinstance(limit := body.get(key), int))
        limit = next((each for each in limits if each <= MOST_TOKENS), _UNLIMITED)
        cost = (left, left * estimate_tokens_by_bytes(canonical(body)), left * limit)
        total = ProbeCost(*map(sum, zip(total, cost, strict=True)))
    return total
