"""What an evaluation has spent, and its end where its budget ends, or a cost is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from threading import Condition, Event
from typing import Final, TypeAlias

from toolreel._driver import Endpoint
from toolreel.evals._runner.endpoints import SendingBy, measured
from toolreel.evals._runner.trial import Stopped
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._settings import Price
from toolreel_core.evals import Budget, Cell, Record, SentRequest, kind_of

PriceOf: TypeAlias = Callable[[str, str], Price | None]
"""What a model costs at an endpoint."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What all attempts of all runs have cost, void ones too."""

    tokens: int = 0
    """Of prompts and completions, as far as the provider counted them."""
    cost: float = 0.0
    """In the provider's currency: as reported, or else by the plan's prices."""
    unpriced: int = 0
    """Answered requests whose cost is neither."""

    def after(self, record: Record, prices: PriceOf) -> Spent:
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


def _cost_of(asked: SentRequest, cell: Cell, prices: PriceOf) -> float | None:
    """The cost of a request: as reported, or else by the price; ``None`` if it is neither.

    A price of tokens that nobody counted is no cost. Without a finish it was no reply but an error with
    status 200, which nobody bills.
    """
    if asked.cost is not None:
        return asked.cost
    price = prices(cell.model, cell.endpoint)
    if not asked.prompt_tokens + asked.completion_tokens and asked.finish not in _NO_REPLY:
        return None
    return price.cost(asked.prompt_tokens, asked.completion_tokens) if price else None


_NO_REPLY: Final = ("", "unknown", "error")


class CostGuard:
    """Keeps the cost of an evaluation below its cap: what is in flight is reserved by its estimate.

    A request waits while its estimate does not fit beside those in flight, so that the cap is exceeded by one
    reply at most. None goes out, of any run, once the cap is reached, or a reply has come whose cost is not
    known.

    :param stop: set at the end of the budget, so that no further run begins
    :param spent: what runs of before have cost
    """

    def __init__(self, budget: Budget, prices: PriceOf, stop: Event, spent: float = 0.0) -> None:
        self._cap, self._prices, self._stop = budget.max_cost, prices, stop
        self._spent, self._held, self._flying = spent, 0.0, 0
        self._largest = 0.0
        """Of the replies so far: what one is taken to cost that has no price."""
        self._changed = Condition()
        self._why = ""

    def guarded(self, endpoint: Endpoint, cell: Cell) -> Endpoint:
        """The endpoint of a run, which ends the run with :class:`Stopped` at the end of the budget."""
        if self._cap is None or kind_of(cell.model):
            return endpoint
        return SendingBy(partial(self.send, endpoint, cell, self._cap))

    def send(
        self, endpoint: Endpoint, cell: Cell, cap: float, effect: SendRequest
    ) -> ReplyReceived | RequestFailed:
        """Send a request once it may go out."""
        price, body = self._prices(cell.model, cell.endpoint), effect.request.body
        estimate = None
        if price:
            most = json.loads(body).get("max_tokens")
            estimate = price.cost(len(body) / _BYTES, most if isinstance(most, int) else _COMPLETION)
        reserved = self._reserve(cap, estimate)
        event = None
        try:
            event = endpoint.send(effect)
            return event
        finally:
            with self._changed:
                self._held -= reserved
                self._flying -= 1
                if isinstance(event, ReplyReceived):
                    cost = _cost_of(measured(effect, event), cell, self._prices)
                    if cost is None:
                        self._end("the cost of a reply is unknown, and the cost of the evaluation is limited")
                    self._spent += cost or 0.0
                    self._largest = max(self._largest, cost or 0.0)
                self._changed.notify_all()

    def _reserve(self, cap: float, estimate: float | None) -> float:
        """Wait until a request may go out, and reserve what it may cost."""
        with self._changed:
            while True:
                if not self._why and self._spent >= cap:
                    self._end("the budget of the evaluation is used up")
                if self._why:
                    raise Stopped(self._why)
                left = cap - self._spent - self._held
                # As long as nothing has come, a reply without a price may cost anything.
                wanted = estimate if estimate is not None else self._largest or inf
                if wanted <= left or not self._flying:
                    reserved = min(wanted, max(left, 0.0))
                    self._held += reserved
                    self._flying += 1
                    return reserved
                self._changed.wait()

    def _end(self, why: str) -> None:
        self._why = self._why or why
        self._stop.set()


_BYTES: Final = 3
"""Of a token: few, so that estimates are high."""
_COMPLETION: Final = 1_000
"""Tokens of a reply that nothing limits."""
