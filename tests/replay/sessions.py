"""The recorded sessions, and how to hold one again without a look at its recorded events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import assert_never

import httpx
import trio

from toolreel._driver import AsyncPorts, Ports, Run, arun, run
from toolreel._journal import MemoryJournal, journal_path, read_journal
from toolreel._replay import DRIVERS, Driver
from toolreel.cassette import use_cassette
from toolreel.demo import workspace
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.tools import AsyncPythonTools, PythonTools, ToolLike
from toolreel_core._plan import Plan

FOLDER = Path(__file__).resolve().parents[2] / "cassettes"
EVERY = sorted(FOLDER.glob("*/*.yaml"))
"""All sessions; those of evaluations, which lie deeper, are replayed by ``tests/evals``."""
OURS = [path for path in EVERY if journal_path(path).exists()]
REMOTE = [path for path in OURS if path.parent.name.startswith("mcp-")]
"""Sessions with tools of MCP servers, which the journal answers for."""
CASSETTES = [path for path in OURS if path not in REMOTE]
"""Sessions whose tools are pure, so that they can be run for real."""
ADOPTED = [path for path in EVERY if not journal_path(path).exists()]
"""Sessions of other clients, which write no journal."""

_NOWHERE = "http://replay.invalid"


@dataclass(frozen=True, slots=True)
class Held:
    """A session that was held again: replies from the cassette, tools for real."""

    run: Run
    journal: bytes
    """The journal that it wrote."""


def cassette(scenario: str) -> Path:
    """The recorded session of a scenario that has just one."""
    (path,) = FOLDER.glob(f"{scenario}/*.yaml")
    return path


def tools_of(plan: Plan) -> Iterable[ToolLike]:
    """The tools of a session that offers any; ports with tools for a plan without draw a warning."""
    return workspace() if plan.tools.names else ()


def held(path: Path, tools: Iterable[ToolLike] | None = None) -> Held:
    """Hold a session on the sync driver; only its plan is taken from the journal."""
    plan = read_journal(journal_path(path)).plan
    journal = MemoryJournal(plan)
    with (
        use_cassette(path) as session,
        HttpEndpoint(_NOWHERE, transport=session.transport()) as endpoint,
    ):
        ports = Ports(endpoint, PythonTools(tools or tools_of(plan)))
        return Held(run(plan, ports, journal=journal), journal.text.encode())


async def aheld(
    path: Path, through: Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport] = lambda tape: tape
) -> Held:
    """The same on the async driver, with the cassette behind another transport if wanted."""
    plan = read_journal(journal_path(path)).plan
    journal = MemoryJournal(plan)
    with use_cassette(path) as session:
        transport = through(session.async_transport())
        async with AsyncHttpEndpoint(_NOWHERE, transport=transport) as endpoint:
            ports = AsyncPorts(endpoint, AsyncPythonTools(tools_of(plan)))
            return Held(await arun(plan, ports, journal=journal), journal.text.encode())


def held_on(driver: Driver, path: Path) -> Held:
    """The same on any driver."""
    match driver:
        case "sync":
            return held(path)
        case "asyncio":
            return asyncio.run(aheld(path))
        case "trio":
            return trio.run(partial(aheld, path))
        case _:
            assert_never(driver)


def journals_by_driver() -> str:
    """JSON: the journal that each session writes on each driver, in this process."""
    return json.dumps(
        {
            driver: {str(path): held_on(driver, path).journal.decode() for path in CASSETTES}
            for driver in DRIVERS
        }
    )
