"""What an evaluation has spent, and its end at the first reply whose cost nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Final

from toolreel._driver import Endpoint
from toolreel.evals._runner.endpoints import ObservedEndpoint
from toolreel.evals._runner.trial import Job, RunContext, run_job
from toolreel_core._jsontext import digest
from toolreel_core._protocol import Note, ReplyReceived, RequestFailed, SendRequest
from toolreel_core.evals import Attempt, Budget, Cell, PriceList, Record, SentRequest, Verdict, kind_of


@dataclass(frozen=True, slots=True)
class Spent:
    """What all attempts of all runs have cost, void ones too."""

    tokens: int = 0
    """Of prompts and completions, as far as the provider counted them."""
    cost: float = 0.0
    """In the provider's currency: as reported, or else by the plan's prices."""
    unpriced: int = 0
    """Answered requests whose cost is neither."""

    def after(self, record: Record, prices: PriceList) -> Spent:
        """With one more run; a script costs nothing."""
        if kind_of(record.cell.model):
            return self
        asked = [each for attempt in record.attempts for each in attempt.asked]
        costs = [_cost_of(each, record.cell, prices) for each in asked if not each.failure]
        return Spent(
            self.tokens + sum(each.prompt_tokens + each.completion_tokens for each in asked),
            self.cost + sum(cost or 0.0 for cost in costs),
            self.unpriced + costs.count(None),
        )

    def over(self, budget: Budget, minutes: float) -> str:
        """Which cap has been reached or cannot be kept, in words; empty if none.

        :param minutes: since the evaluation began
        """
        if self.unpriced and budget.max_cost is not None:
            remedy = (
                'give the model a price in [prices."MODEL"], or leave out budget.max_cost if the server '
                "counts no tokens"
            )
            return f"the cost of {self.unpriced} requests is unknown; {remedy}"
        caps = (
            ("tokens", self.tokens, budget.max_tokens),
            ("cost", self.cost, budget.max_cost),
            ("minutes", minutes, budget.max_minutes),
        )
        for name, used, cap in caps:
            if cap is not None and used >= cap:
                return f"the budget is used up: {used:.6g} of {cap:g} {name}"
        return ""


def _cost_of(asked: SentRequest, cell: Cell, prices: PriceList) -> float | None:
    """The cost of a request: as reported, or else by the price; ``None`` if it is neither.

    A price of tokens that nobody counted is no cost. Without a finish it was no reply but an error with
    status 200, which nobody bills.
    """
    if asked.cost is not None:
        return asked.cost
    price = prices.price(cell.model, cell.endpoint)
    if not asked.prompt_tokens + asked.completion_tokens and asked.finish not in _NO_REPLY:
        return None
    return price.cost(asked.prompt_tokens, asked.completion_tokens) if price else None


_NO_REPLY: Final = ("", "unknown", "error")


class _Stopped(Exception):
    """Ends a run before its next request."""


class CostGuard:
    """Lets no request out, of any run, once a reply has come whose cost is not known, if costs are capped.

    :param stop: set with that reply, so that no further run begins
    """

    def __init__(self, budget: Budget, prices: PriceList, stop: Event) -> None:
        self._capped = budget.max_cost is not None
        self._prices = prices
        self._stop = stop
        self._unknown = Event()

    def run(self, job: Job, context: RunContext) -> Record:
        """Run a sample; it ends void if the guard lets none of its further requests out."""
        cell = job.sample.cell
        if not self._capped or kind_of(cell.model):
            return run_job(job, context)
        watched = _Watched(context.endpoint, context.now, lambda one: self._replied(one, cell), self._unknown)

        def observe(note: Note, /) -> None:
            watched.observed.note(note)
            context.observe(note)

        try:
            return run_job(job, replace(context, endpoint=watched, observe=observe))
        except _Stopped:
            return _abandoned(job, watched.observed.asked)

    def _replied(self, asked: SentRequest, cell: Cell) -> None:
        if not asked.failure and _cost_of(asked, cell, self._prices) is None:
            self._unknown.set()
            self._stop.set()


class _Watched:
    """The endpoint of one run, as the guard lets it be used."""

    def __init__(
        self,
        endpoint: Endpoint,
        now: Callable[[], float],
        replied: Callable[[SentRequest], None],
        unknown: Event,
    ) -> None:
        self.observed = ObservedEndpoint(endpoint, now)
        self._replied = replied
        self._unknown = unknown

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        if self._unknown.is_set():
            raise _Stopped
        event = self.observed.send(effect)
        self._replied(self.observed.asked[-1])
        return event


def _abandoned(job: Job, asked: Sequence[SentRequest]) -> Record:
    """The record of a run that was left in the middle; its requests are in it, since they cost something."""
    sample, case, configuration = job.sample, job.case, job.configuration.text
    why = "the cost of a reply is unknown, and the cost of the evaluation is limited"
    verdict = Verdict("void", "loop.budget", (why,))
    return Record(
        key=sample.key,
        cell=sample.cell,
        trial=sample.trial,
        version=sample.version,
        configuration=configuration,
        digest=digest(configuration),
        tools_sent=bool(case.tools.definitions),
        verdict=verdict,
        loop="cancelled",
        final="",
        world=case.world.contents(),
        turns=max((one.turn for one in asked), default=0),
        calls=0,
        attempts=(Attempt(sum(one.ms for one in asked), verdict, tuple(asked)),),
    )
