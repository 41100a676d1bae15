"""A reel: the recording of one test, which is replayed or recorded, and the runs of the test.

The pytest plugin gives one to every test that asks for it (:mod:`toolreel.testing._pytest_plugin`).
All requests to models go through the reel: with :meth:`Reel.run`, an endpoint, or a transport for another
HTTP client.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import httpx

from toolreel._agent import Agent, AgentRuns, RunSettings, Value_co
from toolreel._driver import (
    Approver,
    AsyncApprover,
    AsyncLater,
    AsyncPerformer,
    AsyncPorts,
    AsyncSystemClock,
    AsyncToolHost,
    InstantClock,
    Later,
    Observer,
    Performer,
    Ports,
    Run,
    SystemClock,
    ToolHost,
    arun,
    run,
)
from toolreel._internal import CassetteError, EndpointConfigError, VaryError
from toolreel._journal import journal_path, journal_paths_of_cassette, read_journal
from toolreel._replay import AllowedDifferences, AsyncRehearsal, Rehearsal, TapedEndpoint
from toolreel._secrets import api_key_if_secret, key_notice, known_secrets
from toolreel.cassette import Session, Vary, distinct_rules
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.testing._reel_files import ReelJournal, is_recorded
from toolreel.tools import AsyncPythonTools, PythonTools, Threaded, Tool, ToolLike
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._plan import Plan

if TYPE_CHECKING:
    from toolreel.cassette import Httpx2Transport


_REPLAY_URL = "http://replay.invalid/v1"
"""Cassettes leave the host out of matching; this one cannot exist (RFC 2606)."""


@dataclass(frozen=True, slots=True)
class LiveSide:
    base_url: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""

    @property
    def api_key(self) -> str:
        return os.environ.get(self.api_key_env or "", "").strip()

    @property
    def secrets(self) -> dict[str, str]:
        return known_secrets(os.environ) | api_key_if_secret(str(self.api_key_env), self.api_key)

    @property
    def key_notice(self) -> str:
        return key_notice(str(self.api_key_env), self.api_key)


class Reel:
    """The recording of one test: a cassette, and a journal per run.

    The test brings its own plan. Requests are compared with the cassette and effects by their fingerprints,
    so a changed setting that changes none of them is not drift.

    :param recording: whether to record; otherwise the recording is replayed
    :param shared: what may differ between recorded and new requests in all tests; such a rule need not fit a
        request of this one
    """

    def __init__(
        self,
        cassette: Path | str,
        live: LiveSide | None = None,
        *,
        recording: bool = False,
        shared: Sequence[Vary] = (),
    ) -> None:
        self.cassette = Path(cassette)
        self.recording = recording
        self.live = live or LiveSide()
        self.shared = shared
        """The rules of the project."""
        self._vary: tuple[Vary, ...] = ()
        self._session: Session | None = None
        self._journals: list[ReelJournal] = []
        self._endpoint: HttpEndpoint | None = None
        self._secrets: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        """Base URL for a client: the live server's, or an invalid one while replaying.

        :raises EndpointConfigError: while recording, if no server is configured
        """
        if not self.recording:
            return _REPLAY_URL
        if not self.live.base_url:
            raise EndpointConfigError("recording needs a model: name its server with --reel-live-url URL")
        return self.live.base_url

    @property
    def api_key(self) -> str:
        """API key for a client: the live server's, or a placeholder while replaying; never recorded."""
        return (self.live.api_key if self.recording else "") or "none"

    @property
    def server(self) -> dict[str, Any]:
        """The arguments of an endpoint that say its server and the variable of its key."""
        return {"base_url": self.base_url, "api_key_env": self.live.api_key_env if self.recording else None}

    def vary(self, *rules: Vary) -> None:
        """Say what may differ between recorded and new requests; before the first use of the reel.

        Each rule has to fit a request of the test. The rules in the recording hold, too.

        :raises VaryError: if the reel has been used
        """
        if self._session or self._journals:
            raise VaryError("reel.vary: the reel has been used already; give the rules before its first use")
        self._vary = distinct_rules(self._vary, rules)

    @property
    def now(self) -> datetime:
        """The time of the recording, in UTC and whole seconds; the same in each replay.

        :raises CassetteError: in a replay of a test that didn't ask for it
        """
        return self._open_session().now

    def new_id(self, name: str = "") -> str:
        """A new id, a UUID; a replay makes the same ids again.

        :param name: ids of one name are numbered among themselves, so that tasks and threads that run at
            once, each with a name of its own, get the same ids in any order
        :raises CassetteError: in a replay of a test that didn't ask for ids
        """
        return self._open_session().new_id(name)

    @property
    def requests_by_rule(self) -> Mapping[Vary, int]:
        """For each rule, the number of requests of this test that it fits."""
        return self._session.fits if self._session else {}

    @property
    def transport(self) -> httpx.BaseTransport:
        """A new transport for an ``httpx.Client``; any number of them share the recording."""
        return self._open_session().transport()

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        """A new transport for an ``httpx.AsyncClient``; any number of them share the recording."""
        return self._open_session().async_transport()

    @property
    def httpx2_transport(self) -> Httpx2Transport:
        """The same as :attr:`transport`, for an ``httpx2.Client``, such as the openai SDK takes."""
        return self._open_session().httpx2_transport()

    @property
    def async_httpx2_transport(self) -> Httpx2Transport:
        """The same as :attr:`async_transport`, for an ``httpx2.AsyncClient``."""
        return self._open_session().async_httpx2_transport()

    @property
    def endpoint(self) -> HttpEndpoint:
        """An endpoint for a driver of your own; closed at the end of the test."""
        if self._endpoint is None:
            self._endpoint = HttpEndpoint(**self.server, transport=self.transport)
        return self._endpoint

    def async_endpoint(self) -> AsyncHttpEndpoint:
        """An async endpoint: ``async with reel.async_endpoint() as endpoint``."""
        return AsyncHttpEndpoint(**self.server, transport=self.async_transport)

    def journal(self, plan: Plan) -> ReelJournal:
        """The journal of the next run, for a driver of your own; checked at the end of the test."""
        path = journal_path(self.cassette, len(self._journals) + 1)
        self._check_exists()
        recorded = allowed = None
        if not self.recording and path.exists():
            recorded, tape = read_journal(path), self._replayed_tape()
            rules = tape.rules if tape else distinct_rules(self._vary, self.shared)
            allowed = AllowedDifferences(recorded, rules) if rules else None
        self._journals.append(ReelJournal(plan, path, recorded, allowed))
        return self._journals[-1]

    def check(self) -> None:
        """Fail a replay that has left the recording so far; what is left of it may still come.

        :raises toolreel.ReplayMismatch: for the first event or request that is not in the recording
        """
        for journal in self._journals:
            journal.check(whole=False)
        if self._session:
            self._session.check()

    def finish(self) -> None:
        """End the test: fail if the replay differs from the recording, or did not use all of it.

        :raises toolreel.ReplayMismatch: while replaying; names the first difference
        :raises VaryError: if a rule of the recording or of this test fits no request
        """
        for journal in self._journals:
            journal.check()
        if self._session or (not self.recording and self.cassette.exists()):
            self._open_session().finish()
        elif self._vary:
            raise VaryError(
                f"the test made no request, so the rule ({self._vary[0].text}) fits none: remove it"
            )
        over = journal_paths_of_cassette(self.cassette)[len(self._journals) :]
        if self._journals and over and not self.recording:
            raise ReplayMismatch(f"{over[0]}: was recorded, but the test had only {len(self._journals)} runs")

    def keep_secret(self, secrets: Mapping[str, str]) -> None:
        """Refuse to save a recording that has one of these values, by name."""
        self._secrets.update(secrets)

    def save(self) -> tuple[Path, ...]:
        """Write the recording completely or not at all; return the paths.

        :raises SecretFound: if it would contain a secret; nothing is written
        """
        # Whatever may be refused is checked before the first file changes.
        known = self.live.secrets | self._secrets
        for journal in self._journals:
            journal.refuse_secrets(known)
        written: tuple[Path, ...] = ()
        if self._session is not None and self._session.has_changes:
            self._session.save(known)
            written = (self.cassette,)
        else:
            self.cassette.unlink(missing_ok=True)
        for stale in journal_paths_of_cassette(self.cassette)[len(self._journals) :]:
            stale.unlink()
        for journal in self._journals:
            journal.save()
        return (*written, *(journal.path for journal in self._journals))

    def close(self) -> None:
        """Close the connections of the endpoint."""
        if self._endpoint is not None:
            self._endpoint.close()

    def _check_exists(self) -> None:
        if not self.recording and not is_recorded(self.cassette):
            raise CassetteError(f"{self.cassette}: there is no recording of this test yet")

    def _open_session(self) -> Session:
        if self._session is None:
            self._check_exists()
            self._session = Session(
                self.cassette,
                "record" if self.recording else "replay",
                vary=self._vary,
                shared=self.shared,
            )
        return self._session

    def _replayed_tape(self) -> Session | None:
        return self._open_session() if self.cassette.exists() else None

    def agent(self, agent: Agent[Value_co]) -> Agent[Value_co]:
        """The agent, with runs that go through the reel: ``reel.agent(AGENT).run("How many pins?")``.

        Replies to its runs, decisions and streams belong to the same recording. While recording, requests go
        to the server of the reel, without one to that of the agent. Tools and ``approve`` are asked in a
        replay, too.

        :raises ConfigError: if the agent has an endpoint of its own
        """
        if agent.endpoint is not None:
            raise ConfigError("reel.agent: an endpoint of your own is not recorded; write base_url=")
        settings: dict[str, Any] = {
            each.name: getattr(agent, each.name) for each in fields(agent) if each.init
        }
        return _InReel(**settings, reel=self)

    def run(
        self,
        plan: Plan,
        tools: ToolHost | Iterable[ToolLike] | None = None,
        *,
        approver: Approver | None = None,
        observe: Observer | None = None,
        tools_in_replay: bool = True,
    ) -> Run:
        """Run a plan against the live server while recording, otherwise against the recording.

        :param tools: a host, or functions; without any, a replay takes results from the journal
        :param approver: approves calls while recording; a replay takes decisions from the journal
        :param tools_in_replay: whether a replay executes tools; use false for tools with side effects
        :raises toolreel.ReplayMismatch: if the run differs from the recording
        """
        host = PythonTools(tools) if isinstance(tools, Iterable) else tools
        journal = self._journal_of_run(plan, tools)
        performer: Performer
        if journal.recorded is None:
            clock = SystemClock() if self.recording else InstantClock()
            performer = Ports(self.endpoint, host or PythonTools(), approver or Later(), clock)
        else:
            replay = self._rehearsal_arguments(journal)
            performer = Rehearsal(journal.recorded, tools=host if tools_in_replay else None, **replay)
        done = run(plan, performer, journal=journal, observe=observe)
        journal.check()
        return done

    async def arun(
        self,
        plan: Plan,
        tools: AsyncToolHost | PythonTools | Iterable[ToolLike] | None = None,
        *,
        approver: AsyncApprover | None = None,
        observe: Observer | None = None,
        tools_in_replay: bool = True,
    ) -> Run:
        """The async version of :meth:`run`, for asyncio and trio."""
        host: AsyncToolHost | None
        if isinstance(tools, PythonTools):
            host = Threaded(tools)
        else:
            host = AsyncPythonTools(tools) if isinstance(tools, Iterable) else tools
        journal = self._journal_of_run(plan, tools)
        async with AsyncExitStack() as opened:
            performer: AsyncPerformer
            if journal.recorded is None:
                endpoint = await opened.enter_async_context(self.async_endpoint())
                clock = AsyncSystemClock() if self.recording else InstantClock()
                performer = AsyncPorts(endpoint, host or AsyncPythonTools(), approver or AsyncLater(), clock)
            else:
                replay = self._rehearsal_arguments(journal)
                performer = AsyncRehearsal(
                    journal.recorded, tools=host if tools_in_replay else None, **replay
                )
            done = await arun(plan, performer, journal=journal, observe=observe)
        journal.check()
        return done

    def _journal_of_run(self, plan: Plan, tools: object) -> ReelJournal:
        if self.recording and tools is None and plan.tools.definitions:
            names = ", ".join(plan.tools.names)
            raise ConfigError(
                f"recording runs the tools of the plan for real ({names}): give them to the run"
            )
        return self.journal(plan)

    def _rehearsal_arguments(self, journal: ReelJournal) -> dict[str, Any]:
        tape = self._replayed_tape()
        return {"endpoint": TapedEndpoint(tape) if tape else None, "tape": tape, "allowed": journal.allowed}


# With slots, a dataclass is another class than its methods' super() knows, so they name the base.
@dataclass(frozen=True, slots=True, repr=False)
class _InReel(Agent[Value_co]):
    """The agent with ports and journals of a reel."""

    reel: Reel = field(kw_only=True)
    is_inner: bool = field(kw_only=True, default=False)
    """Whether its runs are in the cassette alone, and have no journals."""

    def as_tool(self, *given: Any, **settings: Any) -> Tool:  # noqa: ANN401 - as of the base
        inner = self if self.is_inner else replace(self, is_inner=True)
        return Agent.as_tool(inner, *given, **settings)

    def _agent_runs(self, plan: Plan, **how: Unpack[RunSettings]) -> AgentRuns:
        if self.reel.recording:
            self.reel.keep_secret(self.secrets)
        if self.is_inner:
            return Agent._agent_runs(self, plan, **how)
        if how.get("record") is not None or how.get("journal") is not None:
            raise ConfigError("reel.agent: the reel records its runs; leave out record= and journal=")
        inbox, observe = how.get("inbox"), how.get("observe")
        return AgentRuns(self, self._output, journal=self.reel.journal(plan), inbox=inbox, observe=observe)

    @asynccontextmanager
    async def open_ports(self, transport: Any, *, awaits: bool = False) -> AsyncGenerator[Any]:  # noqa: ANN401
        own = self.reel.async_transport if awaits else self.reel.transport
        async with Agent.open_ports(self, transport or own, awaits=awaits) as ports:
            yield ports if self.reel.recording else replace(ports, clock=InstantClock())

    def _connection_settings(self) -> dict[str, Any]:
        """The server of the reel, if it has one; while recording else that of the agent."""
        reel = self.reel
        if reel.recording and not reel.live.base_url:
            try:
                return Agent._connection_settings(self)
            except EndpointConfigError as error:
                raise EndpointConfigError(f"{error}; or give pytest --reel-live-url URL") from None
        return {**reel.server, "api_key": None, "headers": {}}
