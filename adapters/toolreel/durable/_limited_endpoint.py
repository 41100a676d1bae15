"""Endpoints that wait for their turn: any endpoint, sync or async, within limits that processes share.

A request that may not start in the time that its run has left, or that the limits let it wait, is answered
like one that the provider itself refuses: with status 429 and a Retry-After that nobody waits for, or with
402 if the money is spent. So the run ends, or goes on at a fallback, as it would anyway.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import Final, TypeAlias, TypeVar, assert_never, cast, overload

from toolreel._driver import (
    AsyncEndpoint,
    AsyncStreamingEndpoint,
    Endpoint,
    ReplyPiece,
    StreamingEndpoint,
    secrets_of,
    time_left,
)
from toolreel._internal import MissingExtra
from toolreel.durable._account_limits import Limits
from toolreel.durable._ledger import Granted, Ledger, Queued, Refused, TicketLost, Turn
from toolreel.tools import awaited, in_thread
from toolreel_core._jsontext import as_tree, read
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._replies import Delta, Usage, as_chat, usage_in
from toolreel_core._settings import WireForm

_POLL: Final = 0.25
"""Seconds at most between two attempts of a request that is not the next."""
_POLL_NEXT: Final = 1.0
"""The same for the next one, which knows when it may start."""
_SHORTEST: Final = 0.005
_NO_RETRY_MS: Final = 10**12
"""A Retry-After above any ``retry_cap_ms``: what has waited as long as it may is not tried again."""


Asking: TypeAlias = Generator[Callable[[], Turn] | float, Turn | None, int | RequestFailed]
"""Yields attempts to perform, whose turn is to be sent, and seconds to pause."""


def ask_until_free(ledger: Ledger, effect: SendRequest) -> Asking:
    """Ask until a request may start at once; returns its ticket, or its refusal.

    Closing it before its end gives the ticket up. It joins the queue without a thread: a ticket
    that a cancelled task never got to know could not be given up.
    """
    estimate = ledger.limits.estimate(effect)
    place = _Place.of(ledger.limits, effect, ledger.join(estimate))
    granted = waited = False
    try:
        while True:
            since = time.monotonic()
            turn = yield partial(ledger.attempt, place.ticket)
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
                    waited = True
                    yield pause
                case Refused():
                    return place.refused(turn.why)
                case TicketLost():
                    place.ticket = ledger.join(estimate)
                case None:
                    raise AssertionError("an attempt is answered with a turn")
                case _:
                    assert_never(turn)
    finally:
        if waited:
            ledger.waits.add(time.monotonic() - place.began)
        if not granted:
            ledger.leave(place.ticket)


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


_Piece = TypeVar("_Piece", bound=ReplyPiece)
_NOTHING: Final = Usage()


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
        with settling(self.ledger, ticket, effect.request.form) as noted:
            return noted(self.endpoint.send(effect))

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        ticket = self._turn(effect)
        if isinstance(ticket, RequestFailed):
            yield ticket
            return
        with settling(self.ledger, ticket, effect.request.form) as noted:
            if not isinstance(self.endpoint, StreamingEndpoint):
                yield noted(self.endpoint.send(effect))
                return
            with closing(self.endpoint.stream(effect)) as pieces:
                for piece in pieces:
                    yield noted(piece)

    def _turn(self, effect: SendRequest) -> int | RequestFailed:
        """The ticket of a request that may start at once, or its refusal."""
        turn: Turn | None = None
        with closing(ask_until_free(self.ledger, effect)) as asking:
            try:
                while True:
                    wanted = asking.send(turn)
                    if callable(wanted):
                        turn = wanted()
                    else:
                        time.sleep(wanted)
            except StopIteration as settled:
                return cast("int | RequestFailed", settled.value)


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
        with settling(self.ledger, ticket, effect.request.form) as noted:
            return noted(await self.endpoint.send(effect))

    async def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        ticket = await self._turn(effect)
        if isinstance(ticket, RequestFailed):
            yield ticket
            return
        with settling(self.ledger, ticket, effect.request.form) as noted:
            if not isinstance(self.endpoint, AsyncStreamingEndpoint):
                yield noted(await self.endpoint.send(effect))
                return
            async with aclosing(self.endpoint.stream(effect)) as pieces:
                async for piece in pieces:
                    yield noted(piece)

    async def _turn(self, effect: SendRequest) -> int | RequestFailed:
        """The ticket of a request that may start at once, or its refusal."""
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        turn: Turn | None = None
        with closing(ask_until_free(self.ledger, effect)) as asking:
            try:
                while True:
                    wanted = asking.send(turn)
                    if callable(wanted):
                        turn = await awaited(in_thread("limits", wanted))
                    else:
                        await anyio.sleep(wanted)
            except StopIteration as settled:
                return cast("int | RequestFailed", settled.value)


@dataclass(slots=True)
class Noted:
    """The last piece of a reply, if it is its answer."""

    answer: ReplyReceived | RequestFailed | None = None

    def __call__(self, piece: _Piece) -> _Piece:
        """Note a piece, and return it."""
        self.answer = None if isinstance(piece, Delta) else piece
        return piece


@contextmanager
def settling(ledger: Ledger, ticket: int, form: WireForm) -> Generator[Noted]:
    """Settles a request at the end of the block, by the answer that was noted in it.

    Not in a thread, for async endpoints neither: a task that is cancelled could not wait for it.
    """
    noted = Noted()
    try:
        yield noted
    finally:
        _settle(ledger, ticket, noted.answer, form)


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
