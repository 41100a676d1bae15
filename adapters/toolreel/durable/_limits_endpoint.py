"""Endpoints that wait for their turn: any endpoint, sync or async, within limits that processes share.

A request that may not start in the time that its run has left, or that the limits let it wait, is answered
like one that the provider itself refuses: with status 429 and a Retry-After that nobody waits for, or with
402 if the money is spent. So the run ends, or goes on at a fallback, as it would anyway.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import Final, assert_never, cast, overload

from toolreel._driver.ports import (
    AsyncEndpoint,
    AsyncStreamingEndpoint,
    Endpoint,
    StreamingEndpoint,
    secrets_of,
)
from toolreel._driver.time_left import time_left
from toolreel._internal.errors import MissingExtra
from toolreel.durable._limits import Limits
from toolreel.durable._limits_ledger import Granted, Ledger, Queued, Refused, TicketLost, Turn
from toolreel.tools._threads_async import awaited, in_thread
from toolreel_core._jsontext.canonical import read
from toolreel_core._jsontext.tree_access import as_tree
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._replies.reply import Usage, usage_in
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._replies.wire_forms.as_chat import as_chat
from toolreel_core._settings.wire_form import WireForm

_POLL: Final = 0.25
"""Seconds at most between two attempts of a request that is not the next."""
_POLL_NEXT: Final = 1.0
"""The same for the next one, which knows when it may start."""
_SHORTEST: Final = 0.005
_NO_RETRY_MS: Final = 10**12
"""A Retry-After above any ``retry_cap_ms``: what has waited as long as it may is not tried again."""
_NOTHING: Final = Usage()
_Piece = Delta | ReplyReceived | RequestFailed


@overload
def limited(endpoint: Endpoint, limits: Limits) -> LimitedEndpoint: ...
@overload
def limited(endpoint: AsyncEndpoint, limits: Limits) -> AsyncLimitedEndpoint: ...
def limited(endpoint: Endpoint | AsyncEndpoint, limits: Limits) -> LimitedEndpoint | AsyncLimitedEndpoint:
    """The endpoint within limits that all processes with the same database keep together.

    The tables are made if they are missing. Close it to close its connections to the database; the endpoint
    itself stays open.

    :raises MissingExtra: if the extra ``durable`` is not installed
    """
    ledger = Ledger.of(limits)
    if iscoroutinefunction(endpoint.send):
        return AsyncLimitedEndpoint(cast("AsyncEndpoint", endpoint), ledger)
    return LimitedEndpoint(cast("Endpoint", endpoint), ledger)


@dataclass(slots=True)
class _Place:
    """The place of one request in the queue."""

    limits: Limits
    effect: SendRequest
    ticket: int
    began: float
    allowed: float
    """Seconds that it may wait."""

    @classmethod
    def of(cls, limits: Limits, effect: SendRequest, ticket: int) -> _Place:
        own = math.inf if limits.max_wait is None else limits.max_wait
        return cls(limits, effect, ticket, time.monotonic(), min(own, time_left()))

    def after(self, turn: Queued) -> float | RequestFailed:
        """Seconds until the next attempt, or the refusal if the turn would come too late."""
        left = self.allowed - (time.monotonic() - self.began)
        if turn.seconds >= left:
            return self._too_late(turn.seconds, max(0.0, left))
        longest = _POLL_NEXT if turn.is_next else min(_POLL, self.limits.window / 50)
        return min(max(turn.seconds, _SHORTEST) if turn.is_next else longest, longest, left)

    def is_late(self, since: float) -> bool:
        """Whether too much time has passed since a turn was asked for, on the clock of this process."""
        return time.monotonic() - since > self.limits.slack / 2

    def refused(self, why: str) -> RequestFailed:
        return RequestFailed(self.effect.ref, "status", why, 402)

    def _too_late(self, seconds: float, left: float) -> RequestFailed:
        limits = self.limits
        why = (
            f"the account {limits.account!r} is at its limits for {seconds:.1f} s or more, and the request "
            f"may wait {left:.1f} s"
        )
        return RequestFailed(self.effect.ref, "status", why, 429, "", _NO_RETRY_MS)


@dataclass(frozen=True, slots=True)
class LimitedEndpoint:
    """An endpoint whose requests wait for their turn; made by :func:`limited`."""

    endpoint: Endpoint
    ledger: Ledger

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the endpoint sends."""
        return secrets_of(self.endpoint)

    def close(self) -> None:
        """Close the connections to the database."""
        self.ledger.close()

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait for the turn of the request, and send it."""
        ticket = self._turn(effect)
        if isinstance(ticket, RequestFailed):
            return ticket
        answer: ReplyReceived | RequestFailed | None = None
        try:
            answer = self.endpoint.send(effect)
            return answer
        finally:
            _settle(self.ledger, ticket, answer, effect.request.form)

    def stream(self, effect: SendRequest) -> Generator[_Piece, None, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        ticket = self._turn(effect)
        if isinstance(ticket, RequestFailed):
            yield ticket
            return
        answer: ReplyReceived | RequestFailed | None = None
        try:
            with closing(_pieces(self.endpoint, effect)) as pieces:
                for piece in pieces:
                    answer = piece if isinstance(piece, ReplyReceived | RequestFailed) else None
                    yield piece
        finally:
            _settle(self.ledger, ticket, answer, effect.request.form)

    def _turn(self, effect: SendRequest) -> int | RequestFailed:
        """The ticket of a request that may start at once, or its refusal."""
        ledger = self.ledger
        estimate = ledger.limits.estimate(effect)
        place = _Place.of(ledger.limits, effect, ledger.join(estimate))
        granted = False
        try:
            while True:
                since = time.monotonic()
                turn: Turn = ledger.attempt(place.ticket)
                match turn:
                    case Granted():
                        if not place.is_late(since):
                            granted = True
                            return place.ticket
                        ledger.give_back(place.ticket)
                    case Queued():
                        pause = place.after(turn)
                        if isinstance(pause, RequestFailed):
                            return pause
                        time.sleep(pause)
                    case Refused():
                        return place.refused(turn.why)
                    case TicketLost():
                        place.ticket = ledger.join(estimate)
                    case _:
                        assert_never(turn)
        finally:
            if not granted:
                ledger.leave(place.ticket)


@dataclass(frozen=True, slots=True)
class AsyncLimitedEndpoint:
    """The async version of :class:`LimitedEndpoint`, for asyncio and trio."""

    endpoint: AsyncEndpoint
    ledger: Ledger

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the endpoint sends."""
        return secrets_of(self.endpoint)

    def close(self) -> None:
        """Close the connections to the database."""
        self.ledger.close()

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait for the turn of the request, and send it."""
        ticket = await self._turn(effect)
        if isinstance(ticket, RequestFailed):
            return ticket
        answer: ReplyReceived | RequestFailed | None = None
        try:
            answer = await self.endpoint.send(effect)
            return answer
        finally:
            # Not in a thread: a task that is cancelled could not wait for it.
            _settle(self.ledger, ticket, answer, effect.request.form)

    async def stream(self, effect: SendRequest) -> AsyncGenerator[_Piece, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        ticket = await self._turn(effect)
        if isinstance(ticket, RequestFailed):
            yield ticket
            return
        answer: ReplyReceived | RequestFailed | None = None
        try:
            async with aclosing(_async_pieces(self.endpoint, effect)) as pieces:
                async for piece in pieces:
                    answer = piece if isinstance(piece, ReplyReceived | RequestFailed) else None
                    yield piece
        finally:
            _settle(self.ledger, ticket, answer, effect.request.form)

    async def _turn(self, effect: SendRequest) -> int | RequestFailed:
        """The ticket of a request that may start at once, or its refusal."""
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        ledger = self.ledger
        estimate = ledger.limits.estimate(effect)
        # Not in a thread: a ticket that a cancelled task never got to know could not be given up.
        place = _Place.of(ledger.limits, effect, ledger.join(estimate))
        granted = False
        try:
            while True:
                since = time.monotonic()
                turn: Turn = await awaited(in_thread("limits", partial(ledger.attempt, place.ticket)))
                match turn:
                    case Granted():
                        if not place.is_late(since):
                            granted = True
                            return place.ticket
                        ledger.give_back(place.ticket)
                    case Queued():
                        pause = place.after(turn)
                        if isinstance(pause, RequestFailed):
                            return pause
                        await anyio.sleep(pause)
                    case Refused():
                        return place.refused(turn.why)
                    case TicketLost():
                        place.ticket = ledger.join(estimate)
                    case _:
                        assert_never(turn)
        finally:
            if not granted:
                ledger.leave(place.ticket)


def _pieces(endpoint: Endpoint, effect: SendRequest) -> Generator[_Piece, None, None]:
    if not isinstance(endpoint, StreamingEndpoint):
        yield endpoint.send(effect)
        return
    with closing(endpoint.stream(effect)) as pieces:
        yield from pieces


async def _async_pieces(endpoint: AsyncEndpoint, effect: SendRequest) -> AsyncGenerator[_Piece, None]:
    if not isinstance(endpoint, AsyncStreamingEndpoint):
        event = await endpoint.send(effect)
        yield event
        return
    async with aclosing(endpoint.stream(effect)) as pieces:
        async for piece in pieces:
            yield piece


def _settle(
    ledger: Ledger, ticket: int, answer: ReplyReceived | RequestFailed | None, form: WireForm
) -> None:
    """Settle a request by its answer; without one, or where it may have been read, the estimate stays."""
    match answer:
        case ReplyReceived():
            joined = as_chat(answer.body, form).body
            body = read(joined).value_or("") if isinstance(joined, str) else joined
            usage = usage_in(as_tree(body))
            known = usage != _NOTHING
            tokens = usage.prompt_tokens + usage.completion_tokens if known else None
            ledger.settle(ticket, tokens, _cost(ledger.limits, usage))
        case RequestFailed():
            # An error status, and a connection that never was, take no tokens.
            nothing = answer.failure in {"status", "connect"}
            after = (answer.retry_after_ms or 0) / 1000 if answer.status in {429, 503} else 0.0
            ledger.settle(ticket, 0 if nothing else None, 0.0 if nothing else None, after)
        case None:
            ledger.settle(ticket, None, None)
        case _:
            assert_never(answer)


def _cost(limits: Limits, usage: Usage) -> float | None:
    """What a reply cost: as it says, else by the price; ``None`` if nobody knows."""
    if usage.cost is not None or limits.price is None or usage == _NOTHING:
        return usage.cost
    return limits.price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
