"""How the runs of an agent are performed: begun, recorded, and continued after a decision."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from toolreel._agent.agent_run import AgentEvent, AgentRun
from toolreel._agent.decided import AsyncDecided, Decided
from toolreel._agent.stream_end import StreamEnd
from toolreel._driver.aio import ago_on, arun, aspeak, astream, astream_on
from toolreel._driver.inbox import Incoming
from toolreel._driver.performer import AsyncPorts, Ports
from toolreel._driver.ports import Journal, Observer
from toolreel._driver.run_result import Run
from toolreel._driver.streaming.events import RunEnded
from toolreel._driver.sync import go_on, run, speak, stream, stream_on
from toolreel._secrets.known_values import known_secrets
from toolreel._secrets.scrubbing import scrubbed
from toolreel._secrets.secret import Secret
from toolreel.tools._typed_output import Output
from toolreel_core._errors import ConfigError
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import ApprovalGiven, UserSpoke

if TYPE_CHECKING:
    from toolreel._agent.agent import Agent
    from toolreel._replay.recorded_files import RecordedFiles, ResumedFiles

    Files: TypeAlias = RecordedFiles | ResumedFiles

_Run = TypeVar("_Run", bound=Run)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """Performs the runs of an agent, one way; a run that rests goes on in the same way."""

    agent: Agent[Any]
    output: Output[Any] | None = None
    journal: Journal | None = None
    observe: Observer | None = None
    inbox: Incoming | None = None
    record: Path | None = None
    """The cassette; its journal is next to it."""
    overwrite: bool = False
    sent: Mapping[str, Secret] = field(default_factory=dict)
    """The credentials that were sent, by name: a server may say them back in an error."""

    def run(self, plan: Plan) -> AgentRun[Any]:
        """Run a plan."""
        with self._recorded(plan) as files, self.agent.ports(_transport(files)) as ports:
            ended = run(plan, ports, journal=files or self.journal, observe=self.observe, inbox=self.inbox)
        return self._knowing(ports).made_of(ended)

    async def arun(self, plan: Plan) -> AgentRun[Any]:
        """The async version of :meth:`run`."""
        with self._recorded(plan) as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                ended = await arun(
                    plan, ports, journal=files or self.journal, observe=self.observe, inbox=self.inbox
                )
        return self._knowing(ports).made_of(ended)

    def stream(self, plan: Plan) -> Generator[AgentEvent[Any], None, None]:
        """Run a plan, and yield what happens."""
        end = StreamEnd()
        with self._recorded(plan, streams=True) as files, self.agent.ports(_transport(files)) as ports:
            yield from end.kept_of(stream(plan, ports, journal=files or self.journal, inbox=self.inbox))
        yield RunEnded(self._knowing(ports).made_of(end.run))

    async def astream(self, plan: Plan) -> AsyncGenerator[AgentEvent[Any], None]:
        """The async version of :meth:`stream`."""
        end = StreamEnd()
        with self._recorded(plan, streams=True) as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                events = astream(plan, ports, journal=files or self.journal, inbox=self.inbox)
                async with aclosing(end.akept_of(events)) as shown:
                    async for event in shown:
                        yield event
        yield RunEnded(self._knowing(ports).made_of(end.run))

    def go_on(self, run: _Run, decision: ApprovalGiven) -> _Run:
        """Go on with a decision, and append to the recording if there is one."""
        with self._resumed(run) as files, self.agent.ports(_transport(files)) as ports:
            journal, decided = files or self.journal, Decided(ports, decision)
            ended = go_on(run.state, decided, journal=journal, observe=self.observe, inbox=self.inbox)
        return self._after(run, ended)

    async def ago_on(self, run: _Run, decision: ApprovalGiven) -> _Run:
        """The async version of :meth:`go_on`."""
        with self._resumed(run) as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                journal, decided = files or self.journal, AsyncDecided(ports, decision)
                ended = await ago_on(
                    run.state, decided, journal=journal, observe=self.observe, inbox=self.inbox
                )
        return self._after(run, ended)

    def reply(self, run: AgentRun[_Value], said: UserSpoke) -> AgentRun[_Value]:
        """Say something to a run, in its recording if there is one."""
        with self._resumed(run) as files, self.agent.ports(_transport(files)) as ports:
            journal = files or self.journal
            ended = speak(run, said, ports, journal=journal, observe=self.observe, inbox=self.inbox)
        return self.made_of(ended, run)

    async def areply(self, run: AgentRun[_Value], said: UserSpoke) -> AgentRun[_Value]:
        """The async version of :meth:`reply`."""
        with self._resumed(run) as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                journal = files or self.journal
                ended = await aspeak(
                    run, said, ports, journal=journal, observe=self.observe, inbox=self.inbox
                )
        return self.made_of(ended, run)

    def stream_on(
        self, run: AgentRun[_Value], said: UserSpoke | None, decision: ApprovalGiven | None
    ) -> Generator[AgentEvent[_Value], None, None]:
        """Say something to a run or go on with a decision, and yield what happens."""
        end = StreamEnd()
        with self._resumed(run) as files, self.agent.ports(_transport(files)) as ports:
            performer = ports if decision is None else Decided(ports, decision)
            journal = files or self.journal
            yield from end.kept_of(
                stream_on(run.state, performer, say=said, journal=journal, inbox=self.inbox)
            )
        yield RunEnded(self.made_of(end.run, run))

    async def astream_on(
        self, run: AgentRun[_Value], said: UserSpoke | None, decision: ApprovalGiven | None
    ) -> AsyncGenerator[AgentEvent[_Value], None]:
        """The async version of :meth:`stream_on`."""
        end = StreamEnd()
        with self._resumed(run) as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                performer = ports if decision is None else AsyncDecided(ports, decision)
                journal = files or self.journal
                events = astream_on(run.state, performer, say=said, journal=journal, inbox=self.inbox)
                async with aclosing(end.akept_of(events)) as shown:
                    async for event in shown:
                        yield event
        yield RunEnded(self.made_of(end.run, run))

    def made_of(self, run: Run, before: Run | None = None) -> AgentRun[Any]:
        """The agent's run, which goes on in this way.

        :param before: the conversation before it
        """
        if before is None:
            return AgentRun(run.state, run.notes, self, run.timing)
        return AgentRun(run.state, before.notes + run.notes, self, before.timing + run.timing)

    def _after(self, run: _Run, more: Run) -> _Run:
        timing = run.timing + more.timing
        return replace(run, state=more.state, notes=run.notes + more.notes, continuation=self, timing=timing)

    def value(self, run: Run) -> object:
        """The output of a run that has completed."""
        return run.text if self.output is None else self.output.value(run)

    def shown(self, text: str) -> str:
        """The text without what the agent sends and nobody shall see."""
        return scrubbed(text, {name: value.reveal() for name, value in self.sent.items()})

    def _knowing(self, ports: Ports | AsyncPorts) -> AgentRuns:
        return replace(self, sent={name: Secret(value) for name, value in ports.secrets.items()})

    @contextmanager
    def _recorded(self, plan: Plan, *, streams: bool = False) -> Generator[RecordedFiles | None]:
        """The files of a new recording, both written or neither.

        :param streams: whether a run that is interrupted is kept too: its journal ends with the cancellation
        """
        if self.record is None:
            yield None
            return
        from toolreel._replay.recorded_files import RecordedFiles

        secrets = {**known_secrets(os.environ), **self.agent.secrets}
        files = RecordedFiles(self.record, plan, secrets, "overwrite" if self.overwrite else "new")
        try:
            yield files
        except BaseException as stopped:
            cancelled = streams and not isinstance(stopped, Exception)
            files.close(keep=cancelled, ended=cancelled)
            raise
        files.close(keep=True, ended=True)
        _raise_refusal(files)

    @contextmanager
    def _resumed(self, run: Run) -> Generator[ResumedFiles | None]:
        """The files of a recording that goes on.

        :raises ConfigError: if it has gone on without this run
        """
        if self.record is None:
            yield None
            return
        from toolreel._replay.recorded_files import ResumedFiles

        files = ResumedFiles(self.record, {**known_secrets(os.environ), **self.agent.secrets}, durable=False)
        try:
            if files.trace.run.state != run.state:
                raise ConfigError(
                    f"{self.record.name} has gone on after this run; go on with its last run, or begin "
                    "another conversation with agent.run([*run.messages, ...])"
                )
            yield files
        finally:
            files.close()
        _raise_refusal(files)


def _transport(files: Files | None, *, is_async: bool = False) -> Any:  # noqa: ANN401 - of httpx, an extra
    tape = files.tape if files is not None else None
    if tape is None:
        return None
    return tape.async_transport() if is_async else tape.transport()


def _raise_refusal(files: Files) -> None:
    if files.refused is not None:
        raise files.refused
