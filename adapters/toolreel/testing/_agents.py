"""Agents in a reel: their requests go through its recording, and each of their runs has a journal in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Generic, Unpack

from toolreel._agent import Agent, AgentEvent, AgentRun, Value_co
from toolreel._driver import AsyncPorts, ImmediateClock, Incoming, InstantClock, Observer, Ports
from toolreel._internal import EndpointConfigError
from toolreel.testing._reel import Reel
from toolreel.testing._reel_journal import ReelJournal, naming_exchange
from toolreel.tools import Tool
from toolreel_core._conversation import Messages
from toolreel_core._errors import ConfigError
from toolreel_core._tools import ToolFlags

if TYPE_CHECKING:
    pass


class ReelAgent(Generic[Value_co]):
    """An agent in a reel, from :meth:`Reel.agent`; each method is that of :class:`toolreel.Agent`."""

    def __init__(self, agent: Agent[Value_co], reel: Reel) -> None:
        if agent.endpoint is not None:
            raise ConfigError("reel.agent: an endpoint of your own is not recorded; write base_url=")
        self._agent = agent
        self._reel = reel

    def run(
        self, prompt: Messages, *, observe: Observer | None = None, inbox: Incoming | None = None
    ) -> AgentRun[Value_co]:
        """Run; ``reply`` goes on with the conversation, in the same recording."""
        agent, journal = self._begin_reel(prompt)
        return agent.run(prompt, journal=journal, observe=observe, inbox=inbox)

    async def arun(
        self, prompt: Messages, *, observe: Observer | None = None, inbox: Incoming | None = None
    ) -> AgentRun[Value_co]:
        """The async version of :meth:`run`."""
        agent, journal = self._begin_reel(prompt)
        return await agent.arun(prompt, journal=journal, observe=observe, inbox=inbox)

    def stream(
        self, prompt: Messages, *, inbox: Incoming | None = None
    ) -> Generator[AgentEvent[Value_co], None, None]:
        """Run like :meth:`run`, and yield what there is to show."""
        agent, journal = self._begin_reel(prompt, streams=True)
        return agent.stream(prompt, journal=journal, inbox=inbox)

    def astream(
        self, prompt: Messages, *, inbox: Incoming | None = None
    ) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`stream`."""
        agent, journal = self._begin_reel(prompt, streams=True)
        return agent.astream(prompt, journal=journal, inbox=inbox)

    def as_tool(self, name: str = "ask_agent", description: str = "", **flags: Unpack[ToolFlags]) -> Tool:
        """This agent as a tool of another; its requests are in the same cassette."""
        return _InReel.of(self._agent, self._reel, None).as_tool(name, description, **flags)

    def _begin_reel(
        self, prompt: Messages, *, streams: bool = False
    ) -> tuple[_InReel[Value_co], ReelJournal]:
        journal = self._reel.journal(self._agent.plan(prompt, streams=streams))
        return _InReel.of(self._agent, self._reel, journal), journal


class _InReel(Agent[Value_co]):
    """The agent of one run, with ports of its reel."""

    __slots__ = ("_journal", "_reel")
    _reel: Reel
    _journal: ReelJournal | None

    @classmethod
    def of(cls, agent: Agent[Value_co], reel: Reel, journal: ReelJournal | None) -> _InReel[Value_co]:
        """The same agent in a reel."""
        settings: dict[str, Any] = {
            each.name: getattr(agent, each.name) for each in fields(agent) if each.init
        }
        made = cls(**settings)
        # Agents are frozen.
        object.__setattr__(made, "_reel", reel)
        object.__setattr__(made, "_journal", journal)
        if reel.recording:
            reel.keep_secret(made.secrets)
        return made

    @contextmanager
    def ports(self, transport: Any = None) -> Generator[Ports]:  # noqa: ANN401 - as of the base
        with super().ports(transport or self._reel.transport) as ports, naming_exchange(self._journal):
            yield ports if self._reel.recording else replace(ports, clock=InstantClock())

    @asynccontextmanager
    async def aports(self, transport: Any = None) -> AsyncGenerator[AsyncPorts]:  # noqa: ANN401 - as of the base
        async with super().aports(transport or self._reel.async_transport) as ports:
            with naming_exchange(self._journal):
                recording = self._reel.recording
                yield ports if recording else replace(ports, clock=ImmediateClock(InstantClock()))

    def _connection(self) -> dict[str, Any]:
        """The server of the reel, if it has one; while recording else that of the agent."""
        reel = self._reel
        if reel.recording and not reel.live.base_url:
            try:
                return super()._connection()
            except EndpointConfigError as error:
                raise EndpointConfigError(f"{error}; or give pytest --reel-live-url URL") from None
        key = reel.live.api_key_env if reel.recording else None
        return {"base_url": reel.base_url, "api_key": None, "api_key_env": key, "headers": {}}
