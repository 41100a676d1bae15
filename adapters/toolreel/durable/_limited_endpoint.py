"""Endpoints that wait for their turn: any endpoint, sync or async, within limits that processes share.

A request that may not start in the time that its run has left, or that the limits let it wait, is answered
like one that the provider itself refuses: with status 429 and a Retry-After that nobody waits for, or with
402 if the money is spent. So the run ends, or goes on at a fallback, as it would anyway.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, aclosing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import sqlalchemy as sa
from sqlalchemy import exc

from toolreel._driver import (
    AsyncEndpoint,
    Endpoint,
    ReplyPiece,
    generate_items_in_scopes,
    immediately,
    items_without_suspending,
    secrets_of_ports,
    stream_reply_pieces,
    stream_whole_reply,
    time_left,
)
from toolreel._internal import DurableError, start_in_daemon_thread
from toolreel._journal import lock_file
from toolreel.durable._database import retry_lost_connection
from toolreel.durable._ledger import GRANTED, Ledger, Limits
from toolreel.tools import await_future
from toolreel_core._jsontext import as_tree, read_json
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._replies import Usage, as_chat, usage_in
from toolreel_core._settings import WireForm

if TYPE_CHECKING:
    from concurrent.futures import Future

_POLL = 0.25
"""Seconds at most between two attempts of a request that is not the next."""
_POLL_NEXT = 1.0
"""The same for the next one, which knows when it may start."""
# What is left of a wait may be a rounding error, and each attempt is a transaction.
_SHORTEST = 0.005
_NO_RETRY_MS = 10**12
"""A Retry-After above any ``retry_cap_ms``: what has waited as long as it may is not tried again."""


def wait_for_turn(ledger: Ledger, effect: SendRequest, abandoned: threading.Event) -> int | RequestFailed:
    """Wait until a request may start at once; returns its ticket, or its refusal.

    :param abandoned: set when nobody waits for the turn any more; then the ticket is given up
    """
    limits, began = ledger.limits, time.monotonic()
    estimate = limits.estimate(effect)
    allowed = min(math.inf if limits.max_wait is None else limits.max_wait, time_left())
    ticket: int | None = None
    granted, pause = False, 0.0
    try:
        while not abandoned.wait(pause):
            since, pause = time.monotonic(), 0.0
            ticket, turn = ledger.poll_ticket(ticket, estimate)
            if turn.refusal:
                return RequestFailed(effect.ref, "status", turn.refusal, 402)
            if turn != GRANTED:
                left = allowed - (time.monotonic() - began)
                if turn.seconds >= left:
                    why = (
                        f"the account {limits.account!r} is at its limits for {turn.seconds:.1f} s or "
                        f"more, and the request may wait {max(0.0, left):.1f} s"
                    )
                    return RequestFailed(effect.ref, "status", why, 429, "", _NO_RETRY_MS)
                # In a short window, a quarter of a second would waste turns.
                pause = max(turn.seconds, _SHORTEST) if turn.is_next else min(_POLL, limits.window / 50)
                pause = min(pause, _POLL_NEXT, left)
            # The other half of the slack is for the way from here to the server.
            elif time.monotonic() - since <= limits.slack / 2:
                granted = True
                return ticket
            else:  # a turn that took too long to arrive may be in no window any more
                ledger.give_turn_back(ticket)
    finally:
        if ticket is not None and not granted:
            ledger.drop_ticket(ticket)
    raise DurableError(f"limits of {limits.account!r}: the request was cancelled while it waited")


_NOTHING = Usage()


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
    kind = AsyncLimitedEndpoint if iscoroutinefunction(endpoint.send) else LimitedEndpoint
    return kind(endpoint, ledger)


@dataclass(frozen=True, slots=True)
class _Limited:
    endpoint: Any
    """Sync or async."""
    ledger: Ledger

    @property
    def secrets(self) -> Mapping[str, str]:
        return secrets_of_ports(self.endpoint)

    def close(self) -> None:
        self.ledger.close()

    async def _turn(self, effect: SendRequest) -> int | RequestFailed:
        abandoned = threading.Event()
        if not iscoroutinefunction(self.endpoint.send):
            return wait_for_turn(self.ledger, effect, abandoned)
        waiting = start_in_daemon_thread("limits", partial(wait_for_turn, self.ledger, effect, abandoned))
        try:
            return await await_future(waiting)
        except BaseException:
            abandoned.set()
            waiting.add_done_callback(self._drop_unknown_ticket)
            raise

    def _drop_unknown_ticket(self, waiting: Future[int | RequestFailed]) -> None:
        if waiting.exception() is None and isinstance(ticket := waiting.result(), int):
            self.ledger.drop_ticket(ticket)

    async def _send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        async with aclosing(self._stream(effect, stream_whole_reply)) as pieces:
            answers: list[Any] = [piece async for piece in pieces]
        event: ReplyReceived | RequestFailed = answers[0]
        return event

    async def _stream(
        self, effect: SendRequest, pieces_of: Callable[[Any, SendRequest], Any] = stream_reply_pieces
    ) -> AsyncGenerator[ReplyPiece, None]:
        turn = await self._turn(effect)
        if isinstance(turn, RequestFailed):
            yield turn
            return
        last: ReplyPiece | None = None
        try:
            async with aclosing(
                generate_items_in_scopes(pieces_of(self.endpoint, effect), nullcontext)
            ) as pieces:
                async for piece in pieces:
                    last = piece
                    yield piece
        finally:
            self._settle_request_usage(turn, effect.request.form, last)

    def _settle_request_usage(self, ticket: int, form: WireForm, last: ReplyPiece | None) -> None:
        """Settle a request by the last piece of its reply, if that is the answer.

        Without one, or where the request may have been read, the estimate stays. Not in a thread, not even
        for async endpoints: a cancelled task could not wait for it.
        """
        tokens: int | None = None
        cost: float | None = None
        after = 0.0
        if isinstance(last, ReplyReceived):
            joined = as_chat(last.body, form).body
            usage = usage_in(as_tree(read_json(joined).value_or("") if isinstance(joined, str) else joined))
            cost = usage.cost  # as the reply says, else by the price; None if nobody knows
            if usage != _NOTHING:
                tokens = usage.prompt_tokens + usage.completion_tokens
                if cost is None and (price := self.ledger.limits.price):
                    cost = price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
        elif isinstance(last, RequestFailed):
            if last.failure in {"status", "connect"}:  # they take no tokens
                tokens, cost = 0, 0.0
            after = (last.retry_after_ms or 0) / 1000 if last.status in {429, 503} else 0.0
        self.ledger.settle_request(ticket, tokens, cost, after)


@dataclass(frozen=True, slots=True)
class LimitedEndpoint(_Limited):
    """An endpoint whose requests wait for their turn; made by :func:`limited`."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait for the turn of the request, and send it."""
        return immediately(self._send(effect))

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        return items_without_suspending(self._stream(effect))


@dataclass(frozen=True, slots=True)
class AsyncLimitedEndpoint(_Limited):
    """The async version of :class:`LimitedEndpoint`, for asyncio and trio."""

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Wait for the turn of the request, and send it."""
        return await self._send(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Wait for the turn of the request; then each piece of the reply, and last the event."""
        return self._stream(effect)


# Slots: the names of workers, each held by one process at a time.
#
# A run that its worker leaves behind when it dies belongs to the slot, and goes on when a worker takes the
# slot again. SQLite's slots are locks on files next to the database, PostgreSQL's are advisory locks of a
# session: both end with the process, however it ends.


_CHECK_SECONDS = 2.0
"""How often a worker looks whether its session is alive: the lock ends with it."""
_DEAD_WITHIN_SECONDS = 3.0
"""How long PostgreSQL may take to notice that a killed worker, whose slot its successor wants, is gone."""


class Slot:
    """The name of a worker, held by this process."""

    is_lost = False
    """Whether another process has it now: the database restarted, and that one was faster."""

    def __init__(self, queue: str, name: str, release: Callable[[], None]) -> None:
        self.name = name
        self.executor = f"{queue}/{name}"
        """The name with its queue, under which DBOS knows it: workers of other queues have other tools."""
        self.give_up = release


def take_slot(url: sa.URL, queue: str, name: str | None) -> Slot:
    """Hold a slot of a queue: the named one, else the first free one of ``worker-1`` and so on."""
    if name is None:
        free = (_lock_slot_if_free(url, queue, f"worker-{number}") for number in count(1))
        return next(filter(None, free))
    until = time.monotonic() + _DEAD_WITHIN_SECONDS
    while (slot := _lock_slot_if_free(url, queue, name)) is None:
        if time.monotonic() > until:
            why = "a worker that is alive has it; stop that one, or take another --slot"
            raise DurableError(f"slot {name}: {why}")
        time.sleep(0.1)
    return slot


def _lock_slot_if_free(url: sa.URL, queue: str, name: str) -> Slot | None:
    number = _lock_number(f"{queue}/{name}")
    if url.get_backend_name() == "sqlite":
        path = Path(str(url.database))
        file = path.with_name(f"{path.name}.{number}.slot").open("ab")
        if lock_file(file):
            return Slot(queue, name, file.close)
        file.close()
        return None
    # The lock is the session's: its connection stays out of pools, and needs no transaction for days.
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    connection = retry_lost_connection(lambda: _connection_with_advisory_lock(engine, number))
    return None if connection is None else _SessionSlot(queue, name, engine, connection)


class _SessionSlot(Slot):
    """An advisory lock; a restart of the database ends the session, then it is taken again."""

    def __init__(self, queue: str, name: str, engine: sa.Engine, connection: sa.Connection) -> None:
        super().__init__(queue, name, self._release)
        self._engine = engine
        self._connection = connection
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="toolreel-slot")
        self._watcher.start()

    def _release(self) -> None:
        self._over.set()
        self._watcher.join()
        with suppress(exc.DBAPIError):
            self._connection.close()

    def _watch(self) -> None:
        while not self._over.wait(_CHECK_SECONDS):
            try:
                self._connection.execute(sa.text("SELECT 1"))
            except exc.DBAPIError:
                self._take_lock_again()

    def _take_lock_again(self) -> None:
        with suppress(exc.DBAPIError):
            self._connection.close()
        while not self._over.wait(0.1):
            with suppress(exc.DBAPIError):
                again = _connection_with_advisory_lock(self._engine, _lock_number(self.executor))
                if again is not None:
                    self._connection = again
                    return
                self.is_lost = True
                self._over.set()


def _connection_with_advisory_lock(engine: sa.Engine, number: int) -> sa.Connection | None:
    with ExitStack() as stack:
        connection = stack.enter_context(engine.connect())
        query = sa.text("SELECT pg_try_advisory_lock(:key)")
        if not connection.execute(query, {"key": number}).scalar():
            return None
        stack.pop_all()  # it stays open
        return connection


def _lock_number(name: str) -> int:
    # Seven bytes, since the key of an advisory lock is a signed number of eight.
    return int.from_bytes(hashlib.sha256(f"toolreel slot {name}".encode()).digest()[:7])
