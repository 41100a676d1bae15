"""What an evaluation has spent, and its end where its budget ends, or a cost is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from math import inf
from threading import Condition, Event
from typing import Final, TypeAlias

from toolreel._driver import Endpoint
from toolreel.evals._runner.trial import SendingBy, Stopped, measured
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._settings import Price
from toolreel_core.evals import Budget, Cell, SentRequest, kind_of

PriceOf: TypeAlias = Callable[[str, str], Price | None]
"""What a model costs at an endpoint."""


class Spending:
    """What all attempts of all runs have cost, void ones too; scripts cost nothing.

    It keeps the cost below its cap, reserving what is in flight by its estimate: a request waits while its
    estimate does not fit beside those in flight, so that the cap is exceeded by one reply at most. None goes
    out, of any run, once the cap is reached, or a reply has come whose cost is not known.

    :param stop: set at the end of the budget, so that no further run begins
    """

    def __init__(self, budget: Budget, prices: PriceOf, stop: Event) -> None:
        self.tokens = 0
        """Of prompts and completions, as far as the provider counted them."""
        self.cost = 0.0
        """In the provider's currency: as reported, or else by the plan's prices."""
        self._unpriced = 0
        """Answered requests whose cost is neither."""
        self._budget, self._prices, self._stop = budget, prices, stop
        self._held, self._flying = 0.0, 0
        self._largest = 0.0
        """Of the replies so far: what one is taken to cost that has no price."""
        self._changed = Condition()

    def count(self, asked: SentRequest, cell: Cell) -> None:
        """Add a request that has ended."""
        with self._changed:
            self.tokens += asked.prompt_tokens + asked.completion_tokens
            cost = self._cost_of(asked, cell)
            self._unpriced += cost is None
            self.cost += cost or 0.0
            self._largest = max(self._largest, cost or 0.0)
            if self.over():
                self._stop.set()

    def over(self, minutes: float = 0) -> str:
        """Which cap has been reached or cannot be kept, in words; empty if none.

        :param minutes: since the evaluation began
        """
        budget = self._budget
        if self._unpriced and budget.max_cost is not None:
            remedy = (
                'give the model a price in [prices."MODEL"], or leave out budget.max_cost if the server '
                "counts no tokens"
            )
            return f"the cost of {self._unpriced} requests is unknown; {remedy}"
        caps = (
            ("cost", self.cost, budget.max_cost),
            ("tokens", self.tokens, budget.max_tokens),
            ("minutes", minutes, budget.max_minutes),
        )
        for name, used, cap in caps:
            if cap is not None and used >= cap:
                return f"the budget is used up: {used:.6g} of {cap:g} {name}"
        return ""

    def guarded(self, endpoint: Endpoint, cell: Cell) -> Endpoint:
        """The endpoint of a run, which ends the run with :class:`Stopped` once the cost is at its cap."""
        return endpoint if kind_of(cell.model) else SendingBy(partial(self._send_guarded, endpoint, cell))

    def _send_guarded(
        self, endpoint: Endpoint, cell: Cell, effect: SendRequest
    ) -> ReplyReceived | RequestFailed:
        """Send a request once it may go out."""
        price, body = self._prices(cell.model, cell.endpoint), effect.request.body
        estimate = None
        if price:
            most = json.loads(body).get("max_tokens")
            estimate = price.cost(len(body) / _BYTES, most if isinstance(most, int) else _COMPLETION)
        reserved = self._reserve_cost(estimate)
        try:
            event = endpoint.send(effect)
            self.count(measured(effect, event), cell)
            return event
        finally:
            with self._changed:
                self._held -= reserved
                self._flying -= 1
                self._changed.notify_all()

    def _reserve_cost(self, estimate: float | None) -> float:
        """Wait until a request may go out, and reserve what it may cost."""
        cap = inf if self._budget.max_cost is None else self._budget.max_cost
        with self._changed:
            while True:
                if cap < inf and (self._unpriced or self.cost >= cap):
                    raise Stopped(self.over())
                left = cap - self.cost - self._held
                # As long as nothing has come, a reply without a price may cost anything.
                wanted = estimate if estimate is not None else self._largest or inf
                if wanted <= left or not self._flying:
                    reserved = min(wanted, max(left, 0.0)) if cap < inf else 0.0
                    self._held += reserved
                    self._flying += 1
                    return reserved
                self._changed.wait()

    def _cost_of(self, asked: SentRequest, cell: Cell) -> float | None:
        """The cost of a request: as reported, or else by the price; ``None`` if it is neither.

        A price of tokens that nobody counted is no cost. Without a finish it was no reply but an error with
        status 200, which nobody bills.
        """
        if asked.cost is not None or asked.failure:
            return asked.cost or 0.0
        if not asked.prompt_tokens + asked.completion_tokens and asked.finish not in _NO_REPLY:
            return None
        price = self._prices(cell.model, cell.endpoint)
        return price.cost(asked.prompt_tokens, asked.completion_tokens) if price else None


_NO_REPLY: Final = ("", "unknown", "error")
_BYTES: Final = 3
"""Of a token: few, so that estimates are high."""
_COMPLETION: Final = 1_000
"""Tokens of a reply that nothing limits."""
