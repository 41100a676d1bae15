"""A small shop for durable runs: a model that needs no memory, and tools that write down what they do.

Both can run in any process: what the model answers depends only on the conversation, and each line that is
written is one system call on a file that is appended to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import sqlalchemy as sa

from tests.patience import HANG
from toolreel import Plan, Ports, PythonTools, current_call, run
from toolreel._journal import MemoryJournal, parse_journal
from toolreel.durable import close_database, database_url, open_database
from toolreel.testing import calling, saying
from toolreel_core import LoopConfig, ReplyReceived, RunTool, SendRequest, ToolReturned, ToolSurface
from toolreel_core._jsontext import Json, JsonText, canonical, parse


@dataclass(frozen=True, slots=True)
class Did:
    """One thing that was begun."""

    run: str
    step: int
    key: str
    """The idempotency key of a call; ``-`` for a request."""


class Shop:
    """The ports of runs that order some parts, one by one, and then say so.

    :param log: the file where everything that is begun is written down
    """

    def __init__(self, log: Path) -> None:
        self._log = log

        def order(run: str, part: int) -> str:
            """Order a part."""
            self._write(Did(run, part * 2 + 1, current_call().key))
            return f"ordered {part}"

        self.tools = PythonTools([order])

    @property
    def ports(self) -> Ports:
        """What performs the runs."""
        return Ports(self, self.tools)

    @property
    def did(self) -> list[Did]:
        """Everything that was begun, in order."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [Did(run, int(step), key) for run, step, key in map(str.split, lines)]

    def send(self, effect: SendRequest) -> ReplyReceived:
        """Order the next part; say so when all are ordered."""
        body: Any = parse(JsonText(effect.request.body))
        messages = body["messages"]
        name, _, parts = str(messages[0]["content"]).partition(" orders ")
        done = sum(each["role"] == "tool" for each in messages)
        self._write(Did(name, done * 2, "-"))
        if done < int(parts):
            return ReplyReceived(effect.ref, 200, canonical(_order(name, done)))
        return ReplyReceived(effect.ref, 200, canonical(saying(f"{done} parts ordered.")))

    def _write(self, did: Did) -> None:
        line = f"{did.run} {did.step} {did.key}\n".encode()
        file = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, line)
        finally:
            os.close(file)


class Slow:
    """The tools of a shop, which go on when they are told to."""

    def __init__(self, shop: Shop) -> None:
        self._tools = shop.tools
        self.surface = shop.tools.surface
        self.in_a_call, self.go_on = Event(), Event()

    def run(self, effect: RunTool) -> ToolReturned:
        self.in_a_call.set()
        self.go_on.wait(HANG)
        return self._tools.run(effect)


def execute(database: str, statement: str, **values: str) -> Any:  # noqa: ANN401 - rows
    """The rows of a statement of SQL, in which ``{dbos}`` stands before the tables of DBOS."""
    engine = open_database(database_url(database))
    dbos = "" if engine.dialect.name == "sqlite" else "dbos."
    with engine.begin() as connection:
        done = connection.execute(sa.text(statement.format(dbos=dbos)), values)
        rows = [tuple(row) for row in done] if done.returns_rows else []
    close_database(engine)
    return rows


def _order(name: str, part: int) -> Json:
    reply: Any = calling(("order", {"run": name, "part": part}))
    reply["choices"][0]["message"]["tool_calls"][0]["id"] = f"call_{part}"
    return {**reply}


def plan_of(name: str, parts: int, tools: ToolSurface, config: LoopConfig | None = None) -> Plan:
    """The plan of a run of this many orders: twice as many effects, and one more."""
    settings = config or LoopConfig()
    return Plan.of(model="shop", messages=f"{name} orders {parts}", tools=tools, config=settings)


def undisturbed(plan: Plan, shop: Shop) -> str:
    """The digest of the same run where nothing durable is about."""
    journal = MemoryJournal(plan)
    run(plan, shop.ports, journal=journal)
    return parse_journal(journal.text).digest
