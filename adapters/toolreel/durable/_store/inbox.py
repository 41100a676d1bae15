"""What is said to a run from outside, in order: messages, decisions, and that it be cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from toolreel.durable._store.tables import INBOX
from toolreel_core._jsontext import canonical, either, read
from toolreel_core._protocol import Event, decode_event, encode


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said to a run."""

    n: int
    """Counted from 1."""
    event: Event
    answers: str = ""
    """The fingerprint of the effect that a decision is about; empty for what answers none."""


def heard_after(engine: sa.Engine, run_id: str, n: int) -> Sequence[Said]:
    """What was said after the first ``n`` things."""
    query = (
        sa.select(INBOX.c.n, INBOX.c.event, INBOX.c.answers)
        .where(INBOX.c.run_id == run_id, INBOX.c.n > n)
        .order_by(INBOX.c.n)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
    return [Said(row.n, decode_event(either(read(row.event))), row.answers) for row in rows]


def leave(connection: sa.Connection, run_id: str, said: Said, token: str) -> None:
    """Write something down for a run."""
    row = {"run_id": run_id, "n": said.n, "token": token, "answers": said.answers}
    connection.execute(sa.insert(INBOX).values(**row, event=canonical(encode(said.event))))


def was_left(connection: sa.Connection, token: str) -> bool:
    """Whether this was written down before: the answer to an earlier attempt was lost."""
    return connection.execute(sa.select(INBOX.c.n).where(INBOX.c.token == token)).first() is not None
