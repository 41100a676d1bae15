"""What a probe takes, before it is sent: requests, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._jsontext import Json, canonical
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.probing import Probing
from toolreel_core._probe.question import Question
from toolreel_core._settings import Price, bytes_per_4

_UNLIMITED = 16
"""Tokens of an answer that no field limits; such questions ask for one word."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MOST = 1_024
"""Tokens above which a limit is what is asked for, not what is used."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of some requests, at most."""

    requests: int
    prompt_tokens: int
    completion_tokens: int

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def money(self, price: Price) -> float:
        """What they cost."""
        return price.cost(self.prompt_tokens, self.completion_tokens)


def estimate(probing: Probing) -> Cost:
    """The requests that are left, if all answers agree; questions that depend on answers count too."""
    known = probing.known
    left = (_cost(each, probing, known) for each in probing.questions)
    return sum(left, Cost(0, 0, 0))


def _cost(question: Question, probing: Probing, known: Known) -> Cost:
    wanted = probing.repeat if question.decides else 1
    left = max(0, wanted - len(probing.of(question.name)))
    if question.when is not None and question.name not in known.words and not question.when(known):
        left = 0
    body = question.body(probing.model, known)
    limit = next((_whole(body[key]) for key in _LIMITS if key in body), _UNLIMITED)
    return Cost(left, left * bytes_per_4(canonical(body)), left * (limit if limit <= _MOST else _UNLIMITED))


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else _UNLIMITED
