"""Limits of an account at a provider, and turns within them: tickets in a database that processes share.

Every method is one short transaction that holds the account's row, so that turns are given one after another,
by one clock, whichever process asks. A process that waits says so again with each attempt; one that has died
stops saying so, and its ticket goes.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from toolreel.durable._database import (
    close_database,
    database_url,
    exclusive_transaction,
    insert_if_missing,
    new_engine,
)
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import SendRequest
from toolreel_core._settings import Price

# A rough estimate, as that of ``bytes_per_4``: what the reply counts replaces it.
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one account at a provider, kept by all processes that name the same database and account."""

    account: str
    """Names the account; processes that share it name it alike."""
    database: str | Path = field(repr=False)
    """A SQLite file, or the URL of a PostgreSQL database, which may hold a password."""
    requests: int | None = None
    """Requests that may start in any window."""
    tokens: int | None = None
    """Tokens that requests which start in any window may take: estimated at first, then as counted."""
    window: float = 60.0
    """Seconds of a window."""
    max_cost: float | None = None
    """What the account may spend in all; a request that might pass it is refused with status 402."""
    price: Price | None = None
    """What the account pays, where replies do not say what they cost."""
    reply_tokens: int = 1_000
    """Tokens to reserve for a reply where the request does not limit it."""
    max_wait: float | None = None
    """Seconds to wait for a turn; then the request is refused with status 429. The run's own limit of time
    holds anyway."""
    slack: float = 1.0
    """Seconds that may pass between a turn and the request; each window is longer by them, so that the limits
    are exact for the requests themselves."""

    def __post_init__(self) -> None:
        if not self.account.strip():
            raise ConfigError("account: expected a name for the account, got an empty text")
        for key in ("requests", "tokens", "window", "max_cost", "max_wait", "slack", "reply_tokens"):
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not 0 < value < math.inf):
                raise ConfigError(f"{key}: expected a number above 0, got {value!r}")
        if self.requests is None and self.tokens is None and self.max_cost is None:
            raise ConfigError(f"limits of {self.account!r}: write requests=, tokens= or max_cost=")

    @property
    def span(self) -> float:
        """Seconds for which a turn counts."""
        return self.window + self.slack

    def estimate(self, effect: SendRequest) -> RequestEstimate:
        """What a request is expected to take."""
        request = effect.request
        cap = request.options.output_cap or self.reply_tokens
        prompt = sum(map(len, request.pieces())) // _BYTES_PER_TOKEN + 1
        return RequestEstimate(prompt + cap, 0.0 if self.price is None else self.price.cost(prompt, cap))


class RequestEstimate(NamedTuple):
    tokens: int
    cost: float


class Started(NamedTuple):
    at: float
    tokens: int


def seconds_until_within_limits(
    started: Sequence[Started], now: float, own_tokens: int, limits: Limits
) -> float:
    """Seconds until enough requests have left the window for one more to fit.

    :param started: in the order of their starts
    """
    count, tokens, free_at = len(started), sum(each.tokens for each in started), now
    for each in started:
        fits = limits.requests is None or count < limits.requests
        if fits and (limits.tokens is None or tokens + own_tokens <= limits.tokens):
            break
        count, tokens, free_at = count - 1, tokens - each.tokens, each.at + limits.span
    return max(0.0, free_at - now)


_METADATA = sa.MetaData()

ACCOUNTS = sa.Table(
    "toolreel_limits_accounts",
    _METADATA,
    sa.Column("account", sa.String, primary_key=True),
    sa.Column("clock", sa.Float, nullable=False),  # the latest time that was read: time never runs backwards
    sa.Column("blocked_until", sa.Float, nullable=False),  # by a Retry-After
    sa.Column("spent", sa.Float, nullable=False),
)
TICKETS = sa.Table(
    "toolreel_limits_tickets",
    _METADATA,
    # SQLite increments only an INTEGER key automatically.
    sa.Column(
        "ticket", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
    ),
    sa.Column("account", sa.String, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("alive_until", sa.Float, nullable=False),  # when a waiting process counts as gone
    sa.Column("started_at", sa.Float),  # NULL while it waits
    sa.Column("settled", sa.Boolean, nullable=False),
    sa.Index("toolreel_limits_by_start", "account", "started_at"),
    sqlite_autoincrement=True,
)

# The clock of the database, which all processes share. 2440587.5 is the Julian day of 1970-01-01. Unlike
# now(), clock_timestamp() goes on while a transaction waits for the account's row.
_CLOCKS = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}


def database_time(connection: sa.Connection) -> float:
    return float(connection.execute(sa.text(_CLOCKS[connection.dialect.name])).scalar_one())


_CONNECTIONS = 5
LEASE = 15.0
"""Seconds after which a process that waits and does not ask again counts as gone."""
_ABANDONED = 3_600.0
"""Seconds after which a request that was never settled counts as spent."""


class QueueTurn(NamedTuple):
    seconds: float
    """How long it has to wait at least."""
    is_next: bool = True
    """Whether no other request waits before it."""
    refusal: str = ""
    """Why it can never start; empty if it can."""


GRANTED = QueueTurn(0.0)
"""The request may start now."""


@dataclass(frozen=True, slots=True)
class Ledger:
    limits: Limits
    engine: Engine = field(repr=False)

    @classmethod
    def of(cls, limits: Limits) -> Ledger:
        given = str(limits.database)
        engine = new_engine(database_url(given if "://" in given else f"sqlite:///{given}"), _CONNECTIONS)
        with exclusive_transaction(engine) as connection:
            _METADATA.create_all(connection)
            row = {"account": limits.account, "clock": 0.0, "blocked_until": 0.0, "spent": 0.0}
            insert_if_missing(connection, ACCOUNTS, row)
        return cls(limits, engine)

    def close(self) -> None:
        close_database(self.engine)  # also those that a thread which was abandoned is using

    def poll_ticket(self, ticket: int | None, estimate: RequestEstimate) -> tuple[int, QueueTurn]:
        """Ask for the turn of a ticket; if it is granted, the request counts from now on.

        :param ticket: ``None`` for a new one at the end of the queue
        :returns: the ticket, and its turn; another ticket, if this one is gone since its process did not ask
            for too long
        """
        with self._lock_account() as (connection, now, account):
            own = connection.execute(select(TICKETS).where(TICKETS.c.ticket == ticket)).one_or_none()
            if own is None:
                row = {
                    "account": self.limits.account,
                    "tokens": estimate.tokens,
                    "cost": estimate.cost,
                    "alive_until": now + LEASE,
                    "settled": False,
                }
                own = connection.execute(insert(TICKETS).values(row).returning(*TICKETS.c)).one()
            mine = TICKETS.c.ticket == own.ticket
            if why := self._refusal_reason(connection, own, account.spent):
                connection.execute(delete(TICKETS).where(mine))
                return own.ticket, QueueTurn(0.0, refusal=why)
            # First: a process that asks is alive, however long ago it last asked.
            connection.execute(update(TICKETS).where(mine).values(alive_until=now + LEASE))
            self._remove_old_tickets(connection, now)
            of_account = TICKETS.c.account == self.limits.account
            waiting = select(func.min(TICKETS.c.ticket)).where(of_account, TICKETS.c.started_at.is_(None))
            first = connection.execute(waiting).scalar()
            counting = of_account, TICKETS.c.started_at > now - self.limits.span
            counted = select(TICKETS.c.started_at, TICKETS.c.tokens).where(*counting)
            rows = connection.execute(counted.order_by(TICKETS.c.started_at))
            wait = seconds_until_within_limits([Started(*row) for row in rows], now, own.tokens, self.limits)
            turn = QueueTurn(
                max(0.0, wait, account.blocked_until - now), first is None or first >= own.ticket
            )
            if turn == GRANTED:
                connection.execute(update(TICKETS).where(mine).values(started_at=now))
            return own.ticket, turn

    def give_turn_back(self, ticket: int) -> None:
        """Give a turn back that came too late to be used; the ticket keeps its place."""
        with self._lock_account() as (connection, now, _):
            waiting = {"started_at": None, "alive_until": now + LEASE}
            connection.execute(update(TICKETS).where(TICKETS.c.ticket == ticket).values(waiting))

    def drop_ticket(self, ticket: int) -> None:
        with self._lock_account() as (connection, _, _):
            connection.execute(delete(TICKETS).where(TICKETS.c.ticket == ticket))

    def settle_request(
        self, ticket: int, tokens: int | None, cost: float | None, retry_after: float = 0.0
    ) -> None:
        """Record what a request took; the estimate stands for what is ``None``.

        :param retry_after: seconds for which the provider wants no request of the account
        """
        with self._lock_account() as (connection, now, account):
            mine = TICKETS.c.ticket == ticket
            row = connection.execute(select(TICKETS).where(mine)).one_or_none()
            if row is not None and not row.settled:
                took = row.tokens if tokens is None else tokens
                paid = row.cost if cost is None else cost
                connection.execute(update(TICKETS).where(mine).values(tokens=took, settled=True))
                self._update_account(connection, spent=account.spent + paid)
            if retry_after > 0:
                self._update_account(connection, blocked_until=max(account.blocked_until, now + retry_after))

    def _refusal_reason(self, connection: Connection, own: Any, spent: float) -> str:  # noqa: ANN401 - a row
        limits = self.limits
        if limits.tokens is not None and own.tokens > limits.tokens:
            return (
                f"the request is estimated at {own.tokens} tokens, and the account {limits.account!r} takes "
                f"{limits.tokens} in {limits.window:g} s; shorten it, or set its max_tokens"
            )
        if limits.max_cost is None:
            return ""
        started = TICKETS.c.account == limits.account, TICKETS.c.started_at.is_not(None)
        under_way = select(func.sum(TICKETS.c.cost)).where(*started, TICKETS.c.settled.is_(False))
        reserved = spent + (connection.execute(under_way).scalar() or 0.0)
        # Both, because without a price the request is estimated at nothing.
        if reserved < limits.max_cost and reserved + own.cost <= limits.max_cost:
            return ""
        return (
            f"the account {limits.account!r} has spent {reserved:.6g} of {limits.max_cost:g}, and the "
            f"request may take {own.cost:.6g}; raise max_cost to go on"
        )

    def _remove_old_tickets(self, connection: Connection, now: float) -> None:
        """Remove the tickets of processes that are gone, and what no window counts any more."""
        own = TICKETS.c.account == self.limits.account
        gone = TICKETS.c.started_at.is_(None) & (TICKETS.c.alive_until < now)
        past = TICKETS.c.started_at <= now - self.limits.span
        connection.execute(delete(TICKETS).where(own, gone | (past & TICKETS.c.settled)))
        lost = own, TICKETS.c.started_at <= now - max(self.limits.span, _ABANDONED)
        if paid := connection.execute(select(func.sum(TICKETS.c.cost)).where(*lost)).scalar():
            self._update_account(connection, spent=ACCOUNTS.c.spent + paid)
        connection.execute(delete(TICKETS).where(*lost))

    def _update_account(self, connection: Connection, **values: Any) -> None:  # noqa: ANN401 - of any column
        own = ACCOUNTS.c.account == self.limits.account
        connection.execute(update(ACCOUNTS).where(own).values(**values))

    @contextmanager
    def _lock_account(self) -> Generator[tuple[Connection, float, Any]]:
        with self.engine.begin() as connection:
            own = ACCOUNTS.c.account == self.limits.account
            # A change comes first: it takes the row, or SQLite's only place for a writer, before one reads.
            taken = update(ACCOUNTS).where(own).values(clock=ACCOUNTS.c.clock).returning(*ACCOUNTS.c)
            account = connection.execute(taken).one()
            now = max(database_time(connection), account.clock)
            self._update_account(connection, clock=now)
            yield connection, now, account
