"""Turns at an account, shared by processes: first come, first served, by tickets in one database.

Every method is one short transaction that holds the account's row, so that turns are given one after another,
by one clock, whichever process asks. A process that waits says so again with each attempt; one that has died
stops saying so, and its ticket goes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from toolreel.durable._account_limits import Estimate, Limits, Started, seconds_to_wait
from toolreel.durable._engine import database_url, engine_of, exclusive

_METADATA: Final = sa.MetaData()

ACCOUNTS: Final = sa.Table(
    "toolreel_limits_accounts",
    _METADATA,
    sa.Column("account", sa.String, primary_key=True),
    sa.Column("clock", sa.Float, nullable=False),  # the latest time that was read: time never runs backwards
    sa.Column("blocked_until", sa.Float, nullable=False),  # by a Retry-After
    sa.Column("spent", sa.Float, nullable=False),
)
TICKETS: Final = sa.Table(
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

_CLOCKS: Final = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}


def seconds_now(connection: sa.Connection) -> float:
    """The time of the database, in seconds."""
    return float(connection.execute(sa.text(_CLOCKS[connection.dialect.name])).scalar_one())


_CONNECTIONS: Final = 5
LEASE: Final = 15.0
"""Seconds after which a process that waits and does not ask again counts as gone."""
_ABANDONED: Final = 3_600.0
"""Seconds after which a request that was never settled counts as spent."""


@dataclass(frozen=True, slots=True)
class Granted:
    """The request may start now."""


@dataclass(frozen=True, slots=True)
class Queued:
    """The request has to wait."""

    seconds: float
    """At least so long."""
    is_next: bool
    """Whether nobody is before it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The request can never start."""

    why: str


@dataclass(frozen=True, slots=True)
class TicketLost:
    """The ticket is gone, since this process did not ask for too long; take another one."""


Turn: TypeAlias = Granted | Queued | Refused | TicketLost


@dataclass(slots=True)
class Waits:
    """How often and how long requests of this process have waited for their turn."""

    count: int = 0
    seconds: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, seconds: float) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1
            self.seconds += seconds


@dataclass(frozen=True, slots=True)
class Ledger:
    """The turns of one account."""

    limits: Limits
    engine: Engine = field(repr=False)
    waits: Waits = field(default_factory=Waits, repr=False, compare=False)

    @classmethod
    def of(cls, limits: Limits) -> Ledger:
        """The ledger in the limits' database, whose tables are made if they are missing."""
        given = str(limits.database)
        engine = engine_of(database_url(given if "://" in given else f"sqlite:///{given}"), _CONNECTIONS)
        with exclusive(engine) as connection:
            _METADATA.create_all(connection)
            # The dialects have the same method, each for itself.
            inserting: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
            row = {"account": limits.account, "clock": 0.0, "blocked_until": 0.0, "spent": 0.0}
            connection.execute(inserting(ACCOUNTS).values(row).on_conflict_do_nothing())
        return cls(limits, engine)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def join(self, estimate: Estimate) -> int:
        """Take a ticket at the end of the queue."""
        with self._held() as (connection, now, _):
            row = {
                "account": self.limits.account,
                "tokens": estimate.tokens,
                "cost": estimate.cost,
                "alive_until": now + LEASE,
                "started_at": None,
                "settled": False,
            }
            adding = insert(TICKETS).values(row).returning(TICKETS.c.ticket)
            return int(connection.execute(adding).scalar_one())

    def attempt(self, ticket: int) -> Turn:
        """Ask for the turn of a ticket; if it is granted, the request counts from now on."""
        with self._held() as (connection, now, account):
            own = connection.execute(select(TICKETS).where(TICKETS.c.ticket == ticket)).one_or_none()
            if own is None:
                return TicketLost()
            if why := self._refusal(connection, own, account.spent):
                connection.execute(delete(TICKETS).where(TICKETS.c.ticket == ticket))
                return Refused(why)
            mine = update(TICKETS).where(TICKETS.c.ticket == ticket)
            # First: a process that asks is alive, however long ago it last asked.
            connection.execute(mine.values(alive_until=now + LEASE))
            self._tidy(connection, now)
            waiting = TICKETS.c.account == self.limits.account, TICKETS.c.started_at.is_(None)
            first = connection.execute(select(func.min(TICKETS.c.ticket)).where(*waiting)).scalar()
            is_next = first is None or first >= ticket
            wait = self._seconds(connection, now, own.tokens)
            wait = max(wait, account.blocked_until - now)
            if is_next and wait <= 0:
                connection.execute(mine.values(started_at=now))
                return Granted()
            return Queued(max(0.0, wait), is_next)

    def give_back(self, ticket: int) -> None:
        """Give a turn back that came too late to be used; the ticket keeps its place."""
        with self._held() as (connection, now, _):
            waiting = {"started_at": None, "alive_until": now + LEASE}
            connection.execute(update(TICKETS).where(TICKETS.c.ticket == ticket).values(waiting))

    def leave(self, ticket: int) -> None:
        """Give up a ticket whose request does not start."""
        with self._held() as (connection, _, _):
            connection.execute(delete(TICKETS).where(TICKETS.c.ticket == ticket))

    def settle(self, ticket: int, tokens: int | None, cost: float | None, retry_after: float = 0.0) -> None:
        """Say what a request took: ``None`` for what nobody knows, where the estimate counts.

        :param retry_after: seconds for which the provider wants no request of the account
        """
        with self._held() as (connection, now, account):
            mine = TICKETS.c.ticket == ticket
            row = connection.execute(select(TICKETS).where(mine)).one_or_none()
            if row is not None and not row.settled:
                took = row.tokens if tokens is None else tokens
                paid = row.cost if cost is None else cost
                connection.execute(update(TICKETS).where(mine).values(tokens=took, settled=True))
                self._change(connection, spent=account.spent + paid)
            if retry_after > 0:
                self._change(connection, blocked_until=max(account.blocked_until, now + retry_after))

    def spent(self) -> float:
        """What the account has spent in all, as far as it is known."""
        with self._held() as (_, _, account):
            return float(account.spent)

    def _refusal(self, connection: Connection, own: Any, spent: float) -> str:  # noqa: ANN401 - a row
        """Why a request can never start; empty if it can."""
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
        if reserved < limits.max_cost and reserved + own.cost <= limits.max_cost:
            return ""
        return (
            f"the account {limits.account!r} has spent {reserved:.6g} of {limits.max_cost:g}, and the "
            f"request may take {own.cost:.6g}; raise max_cost to go on"
        )

    def _seconds(self, connection: Connection, now: float, tokens: int) -> float:
        counting = TICKETS.c.account == self.limits.account, TICKETS.c.started_at > now - self.limits.span
        query = select(TICKETS.c.started_at, TICKETS.c.tokens).where(*counting).order_by(TICKETS.c.started_at)
        started = [Started(row.started_at, row.tokens) for row in connection.execute(query)]
        return seconds_to_wait(started, now, tokens, self.limits)

    def _tidy(self, connection: Connection, now: float) -> None:
        """Remove the tickets of processes that are gone, and what no window counts any more."""
        own = TICKETS.c.account == self.limits.account
        gone = TICKETS.c.started_at.is_(None) & (TICKETS.c.alive_until < now)
        past = TICKETS.c.started_at <= now - self.limits.span
        connection.execute(delete(TICKETS).where(own, gone | (past & TICKETS.c.settled)))
        lost = own, TICKETS.c.started_at <= now - max(self.limits.span, _ABANDONED)
        if paid := connection.execute(select(func.sum(TICKETS.c.cost)).where(*lost)).scalar():
            self._change(connection, spent=ACCOUNTS.c.spent + paid)
        connection.execute(delete(TICKETS).where(*lost))

    def _change(self, connection: Connection, **values: Any) -> None:  # noqa: ANN401 - of any column
        own = ACCOUNTS.c.account == self.limits.account
        connection.execute(update(ACCOUNTS).where(own).values(**values))

    @contextmanager
    def _held(self) -> Generator[tuple[Connection, float, Any]]:
        """A transaction that alone may change the account, its time, and the account's row."""
        with self.engine.begin() as connection:
            own = ACCOUNTS.c.account == self.limits.account
            # A change comes first: it takes the row, or SQLite's only place for a writer, before one reads.
            taken = update(ACCOUNTS).where(own).values(clock=ACCOUNTS.c.clock).returning(*ACCOUNTS.c)
            account = connection.execute(taken).one()
            now = max(seconds_now(connection), account.clock)
            self._change(connection, clock=now)
            yield connection, now, account
