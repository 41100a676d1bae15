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
from typing import Final, Generic, TypeAlias, TypeVar, cast, overload

from toolreel._driver import (
    AsyncEndpoint,
    Endpoint,
    ReplyPiece,
    async_pieces_of,
    pieces_of,
    secrets_of,
    time_left,
)
from toolreel._internal import MissingExtra, in_thread
from toolreel.durable._ledger import GRANTED, Ledger, Limits, Turn
from toolreel.tools import awaited
from toolreel_core._jsontext import as_tree, read
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._replies import Usage, as_chat, usage_in
from toolreel_core._settings import WireForm

_Endpoint = TypeVar("_Endpoint")
_POLL: Final = 0.25
"""Seconds at most between two attempts of a request that is not the next."""
_POLL_NEXT: Final = 1.0
"""The same for the next one, which knows when it may start."""
_SHORTEST: Final = 0.005
_NO_RETRY_MS: Final = 10**12
"""A Retry-After above any ``retry_cap_ms``: what has waited as long as it may is not tried again."""


Asking: TypeAlias = Generator[Callable[[], Turn | None] | float, Turn | None, int | RequestFailed]
"""Yields attempts to perform, whose turn is to be sent, and seconds to pause."""


def ask_until_free(ledger: Ledger, effect: SendRequest) -> Asking:
    """Ask until a request may start at once; returns its ticket, or its refusal.

    Closing it before its end gives the ticket up. It joins the queue without a thread: a ticket
    that a cancelled task never got to know could not be given up.
    """
    limits, began = ledger.limits, time.monotonic()
    estimate = limits.estimate(effect)
    allowed = min(math.inf if limits.max_wait is None else limits.max_wait, time_left())
    ticket = ledger.join(estimate)
    granted = waited = False
    try:
        while True:
            since = time.monotonic()
            turn = yield partial(ledger.attempt, ticket)
            if turn is None:
                ticket = ledger.join(estimate)
            elif turn.refusal:
                return RequestFailed(effect.ref, "status", turn.refusal, 402)
            elif turn != GRANTED:
                left = allowed - (time.monotonic() - began)
                if turn.seconds >= left:
                    why = (
                        f"the account {limits.account!r} is at its limits for {turn.seconds:.1f} s or "
                        f"more, and the request may wait {max(0.0, left):.1f} s"
                    )
                    return RequestFailed(effect.ref, "status", why, 429, "", _NO_RETRY_MS)
                waited = True
                pause = max(turn.seconds, _SHORTEST) if turn.is_next else min(_POLL, limits.window / 50)
                yield min(pause, _POLL_NEXT, left)
            elif time.monotonic() - since <= limits.slack / 2:
                granted = True
                return ticket
            else:  # a turn that took too long to arrive may be in no window any more
                ledger.give_back(ticket)
    finally:
        if waited:
            ledger.waits.add(time.monotonic() - began)
        if not granted:
            ledger.leave(ticket)


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
class _Limited(Generic[_Endpoint]):
    endpoint: _Endpoint
    ledger: Ledger

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the endpoint sends."""
        return secrets_of(self.endpoint)

    def close(self) -> None:
        """Close the connections to the database."""
        self.ledger.close()


@dataclass(frozen=True, slots=True)
class LimitedEndpoint(_Limited[Endpoint]):
    """An endpoint whose requests wait for their turn; made by :func:`limited`."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait for the turn of the request, and send it."""
        ticket = self._turn(effect)
        if isinstance(ticket, RequestFailed):
            return ticket
        with settling(self.ledger, ticket, effect.request.form) as noted:
            event = self.endpoint.send(effect)
            noted(event)
            return event

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        ticket = self._turn(effect)
        if isinstance(ticket, RequestFailed):
            yield ticket
            return
        form, replying = effect.request.form, closing(pieces_of(self.endpoint, effect))
        with settling(self.ledger, ticket, form) as noted, replying as pieces:
            for piece in pieces:
                noted(piece)
                yield piece

    def _turn(self, effect: SendRequest) -> int | RequestFailed:
        """The ticket of a request that may start at once, or its refusal."""
        with closing(ask_until_free(self.ledger, effect)) as asking:
            try:
                wanted = next(asking)
                while True:
                    if callable(wanted):
                        wanted = asking.send(wanted())
                    else:
                        time.sleep(wanted)
                        wanted = next(asking)
            except StopIteration as settled:
                return cast("int | RequestFailed", settled.value)


@dataclass(frozen=True, slots=True)
class AsyncLimitedEndpoint(_Limited[AsyncEndpoint]):
    """The async version of :class:`LimitedEndpoint`, for asyncio and trio."""

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait for the turn of the request, and send it."""
        ticket = await self._turn(effect)
        if isinstance(ticket, RequestFailed):
            return ticket
        with settling(self.ledger, ticket, effect.request.form) as noted:
            event = await self.endpoint.send(effect)
            noted(event)
            return event

    async def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        ticket = await self._turn(effect)
        if isinstance(ticket, RequestFailed):
            yield ticket
            return
        with settling(self.ledger, ticket, effect.request.form) as noted:
            async with aclosing(async_pieces_of(self.endpoint, effect)) as pieces:
                async for piece in pieces:
                    noted(piece)
                    yield piece

    async def _turn(self, effect: SendRequest) -> int | RequestFailed:
        """The ticket of a request that may start at once, or its refusal."""
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        with closing(ask_until_free(self.ledger, effect)) as asking:
            try:
                wanted = next(asking)
                while True:
                    if callable(wanted):
                        wanted = asking.send(await awaited(in_thread("limits", wanted)))
                    else:
                        await anyio.sleep(wanted)
                        wanted = next(asking)
            except StopIteration as settled:
                return cast("int | RequestFailed", settled.value)


@contextmanager
def settling(ledger: Ledger, ticket: int, form: WireForm) -> Generator[Callable[[ReplyPiece], None]]:
    """Settles a request at the end of the block, by the last piece that was noted in it, if it is the answer.

    Without one, or where the request may have been read, the estimate stays. Not in a thread, for async
    endpoints neither: a task that is cancelled could not wait for it.
    """
    last: ReplyPiece | None = None

    def noted(piece: ReplyPiece) -> None:
        nonlocal last
        last = piece

    tokens: int | None = None
    cost: float | None = None
    after = 0.0
    try:
        yield noted
    finally:
        if isinstance(last, ReplyReceived):
            joined = as_chat(last.body, form).body
            usage = usage_in(as_tree(read(joined).value_or("") if isinstance(joined, str) else joined))
            cost = usage.cost  # as the reply says, else by the price; None if nobody knows
            if usage != _NOTHING:
                tokens = usage.prompt_tokens + usage.completion_tokens
                if cost is None and (price := ledger.limits.price):
                    cost = price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
        elif isinstance(last, RequestFailed):
            if last.failure in {"status", "connect"}:  # they take no tokens
                tokens, cost = 0, 0.0
            after = (last.retry_after_ms or 0) / 1000 if last.status in {429, 503} else 0.0
        ledger.settle(ticket, tokens, cost, after)
