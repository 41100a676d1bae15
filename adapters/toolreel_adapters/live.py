"""A live run against an endpoint, recorded if wanted, on any driver; Ctrl-C loses nothing of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import httpx

from toolreel.events import CancelRequested
from toolreel.plan import Plan
from toolreel_adapters.adrive import arun
from toolreel_adapters.ahttp import AsyncHttpEndpoint
from toolreel_adapters.apython_tools import AsyncPythonTools
from toolreel_adapters.cassette import AsyncRecordTransport, Recording, RecordTransport, recording
from toolreel_adapters.drive import run
from toolreel_adapters.errors import CassetteError
from toolreel_adapters.finished import Run, retold
from toolreel_adapters.http import HttpEndpoint
from toolreel_adapters.journal import FileJournal, MemoryJournal, TeeJournal, parse_journal
from toolreel_adapters.perform import AsyncPorts, Ports
from toolreel_adapters.ports import Journal, Observer
from toolreel_adapters.python_tools import Given, PythonTools
from toolreel_adapters.replay import Driver, companion, load_trio
from toolreel_adapters.secret_scan import known_secrets

__all__ = ["Live", "Target", "go_live"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a live run goes."""

    base_url: str
    api_key_env: str | None = None
    timeout: float = 300.0
    """Seconds to wait for a reply."""

    @property
    def patience(self) -> httpx.Timeout:
        """The timeouts of one exchange."""
        return httpx.Timeout(min(30.0, self.timeout), read=self.timeout)


@dataclass(frozen=True, slots=True)
class Live:
    """A live run that has ended, and what was kept of it."""

    run: Run
    saved: tuple[Path, ...] = ()
    """The files that were written."""
    refused: CassetteError | None = None
    """Why the cassette was not written."""


def go_live(
    plan: Plan,
    target: Target,
    tools: Sequence[Given] = (),
    *,
    driver: Driver = "sync",
    record: Path | None = None,
    overwrite: bool = False,
    observe: Observer | None = None,
) -> Live:
    """Run a plan against an endpoint.

    :param record: the cassette to write, ``<name>.yaml``; its journal goes beside it
    :param overwrite: whether files of that name may be replaced
    :raises AdapterError: before anything is sent, if the endpoint, the tools or the files cannot be used
    """
    memory = MemoryJournal(plan)
    ended: Run | None = None
    try:
        with ExitStack() as stack:
            journal, tape = _records(stack, plan, record, memory, overwrite=overwrite)
            session = _Session(plan, target, tools, tape, journal, observe)
            try:
                ended = session.on(driver)
            except KeyboardInterrupt:
                journal.record(None, CancelRequested("interrupted from the keyboard"))
                ended = retold(plan, parse_journal(memory.text).events)
    except CassetteError as error:
        if ended is None:
            raise
        return Live(ended, _existing(record), error)
    return Live(ended, _existing(record))


def _existing(record: Path | None) -> tuple[Path, ...]:
    return tuple(path for path in (record, companion(record)) if path.exists()) if record else ()


def _records(
    stack: ExitStack, plan: Plan, record: Path | None, memory: MemoryJournal, *, overwrite: bool
) -> tuple[Journal, Recording | None]:
    if record is None:
        return memory, None
    secrets = known_secrets(os.environ)
    tape = stack.enter_context(recording(record, overwrite=overwrite, known_secrets=secrets))
    file = stack.enter_context(
        FileJournal(companion(record), plan, known_secrets=secrets, overwrite=overwrite)
    )
    return TeeJournal(memory, file), tape


@dataclass(frozen=True, slots=True)
class _Session:
    """One run, ready for any driver."""

    plan: Plan
    target: Target
    tools: Sequence[Given]
    tape: Recording | None
    journal: Journal
    observe: Observer | None

    def on(self, driver: Driver) -> Run:
        match driver:
            case "sync":
                return self._run()
            case "asyncio":
                return asyncio.run(self._arun())
            case "trio":
                done: Run = load_trio().run(self._arun)
                return done
            case _:
                assert_never(driver)

    def _run(self) -> Run:
        transport = RecordTransport(self.tape, httpx.HTTPTransport()) if self.tape else None
        target = self.target
        with HttpEndpoint(
            target.base_url, api_key_env=target.api_key_env, timeout=target.patience, transport=transport
        ) as endpoint:
            ports = Ports(endpoint, PythonTools(self.tools))
            return run(self.plan, ports, journal=self.journal, observe=self.observe)

    async def _arun(self) -> Run:
        transport = AsyncRecordTransport(self.tape, httpx.AsyncHTTPTransport()) if self.tape else None
        target = self.target
        async with AsyncHttpEndpoint(
            target.base_url, api_key_env=target.api_key_env, timeout=target.patience, transport=transport
        ) as endpoint:
            ports = AsyncPorts(endpoint, AsyncPythonTools(self.tools))
            return await arun(self.plan, ports, journal=self.journal, observe=self.observe)
