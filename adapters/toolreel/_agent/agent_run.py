"""``AgentRun``, the run of an agent, and how such runs are performed: begun, recorded, continued."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, cast

from toolreel._agent.offered_tools import AsyncDecidingBy, DecidingBy
from toolreel._driver import (
    AsyncEndpoint,
    AsyncPorts,
    Endpoint,
    Incoming,
    Journal,
    Observer,
    Ports,
    ReplyPiece,
    Run,
    RunEnded,
    ShownEvent,
    StreamEvent,
    ago_on,
    aspeak,
    astream_on,
    go_on,
    message_of,
    pieces_of,
    secrets_of,
    speak,
    stream_on,
)
from toolreel._internal import in_thread
from toolreel._secrets import Secret, known_secrets, scrubbed
from toolreel.tools import Output, awaited
from toolreel_core._conversation import Said
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Plan
from toolreel_core._protocol import ApprovalGiven, AskApproval, ReplyReceived, RequestFailed, SendRequest

if TYPE_CHECKING:
    from toolreel._replay import Keeping, RecordedFiles, ResumedFiles

    _Recording: TypeAlias = AbstractContextManager[RecordedFiles | ResumedFiles | None]


_Run = TypeVar("_Run", bound=Run)
Value_co = TypeVar("Value_co", covariant=True)
"""Type of the output of an agent and its runs; a text without one."""


@dataclass(frozen=True, slots=True, repr=False)
class AgentRun(Run, Generic[Value_co]):
    """The result of an agent's run: a :class:`Run` with an output, to which one can reply."""

    @property
    def output(self) -> Value_co:
        """The answer, as a value of the agent's ``output``; without one, the text of the answer.

        :raises OutcomeError: if the run did not complete
        :raises OutputError: if checks of the type that JSON Schema cannot say reject the answer
        """
        self.raise_for_outcome()
        if self.state.plan.output is None:
            return cast("Value_co", self.text)
        return cast("Value_co", self._runs("output_of(YourType).value(run)").value(self))

    def reply(self, content: Said) -> AgentRun[Value_co]:
        """Say something: after the end this begins the next exchange of the same conversation.

        If the run rests at an approval, the message is kept, and sent after the decision. A recorded run goes
        on in its recording.

        :param content: what the user says: a text, or texts, images, audio and files in a list
        :raises ConfigError: if the message is empty, or the recording has gone on without this run
        """
        runs = self._runs("speak(run, content, ports)")
        return runs.finished(runs.resumed(self), partial(speak, self, message_of(content)), self)

    async def areply(self, content: Said) -> AgentRun[Value_co]:
        """The async version of :meth:`reply`."""
        runs = self._runs("aspeak(run, content, ports)")
        return await runs.afinished(runs.resumed(self), partial(aspeak, self, message_of(content)), self)

    def reply_stream(self, content: Said) -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`reply`, and yield what there is to show, as it happens.

        The pieces of a reply arrive one by one if the conversation began with ``stream`` or ``astream``, or
        the agent's ``config`` has ``{"stream": "always"}``; else each reply comes as a whole.
        """
        runs = self._runs("stream_on(run.state, ports, say=content)")
        drive = partial(stream_on, self.state, say=message_of(content))
        return runs.streamed(runs.resumed(self), drive, self)

    def areply_stream(self, content: Said) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`reply_stream`."""
        runs = self._runs("astream_on(run.state, ports, say=content)")
        drive = partial(astream_on, self.state, say=message_of(content))
        return runs.astreamed(runs.resumed(self), drive, self)

    def approve_stream(self) -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`approve`, and yield what there is to show, as :meth:`reply_stream` does.

        :raises ConfigError: if the run rests at no call
        """
        return self._decided_stream(self._decision(True))

    def deny_stream(self, reason: str = "") -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`deny`, and yield what there is to show."""
        return self._decided_stream(self._decision(False, reason))

    def aapprove_stream(self) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`approve_stream`."""
        return self._adecided_stream(self._decision(True))

    def adeny_stream(self, reason: str = "") -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`deny_stream`."""
        return self._adecided_stream(self._decision(False, reason))

    def _decided_stream(self, decision: ApprovalGiven) -> Generator[AgentEvent[Value_co], None, None]:
        runs = self._runs("stream_on(run.state, ports) with an approver")
        return runs.streamed(runs.resumed(self), partial(stream_on, self.state), self, decision)

    def _adecided_stream(self, decision: ApprovalGiven) -> AsyncGenerator[AgentEvent[Value_co], None]:
        runs = self._runs("astream_on(run.state, ports) with an approver")
        return runs.astreamed(runs.resumed(self), partial(astream_on, self.state), self, decision)

    def _recording(self) -> Path | None:
        return None if self.continuation is None else cast("AgentRuns", self.continuation).record

    # Those of the base, in place of what a dataclass with slots would get: a continuation may hold a key.
    __getstate__ = Run.__getstate__
    __setstate__ = Run.__setstate__

    def _runs(self, instead: str) -> AgentRuns:
        if self.continuation is None:
            raise ConfigError(f"the run was pickled and knows no agent; write {instead}")
        return cast("AgentRuns", self.continuation)


AgentEvent: TypeAlias = ShownEvent | RunEnded[AgentRun[Value_co]]
"""Everything that a streamed run of an agent yields."""


class AgentPorts(Protocol):
    """What runs need of their agent."""

    def ports(self, transport: Any = None) -> AbstractContextManager[Ports]:  # noqa: ANN401 - of httpx, an extra
        """The ports of a run."""
        ...

    def aports(self, transport: Any = None) -> AbstractAsyncContextManager[AsyncPorts]:  # noqa: ANN401 - see above
        """The async version of :meth:`ports`."""
        ...

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that its runs send, by name."""
        ...


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """Performs the runs of an agent, one way; a run that rests goes on in the same way."""

    agent: AgentPorts
    output: Output[Any] | None = None
    journal: Journal | None = None
    observe: Observer | None = None
    inbox: Incoming | None = None
    record: Path | None = None
    """The cassette; its journal is next to it."""
    overwrite: bool = False
    sent: Mapping[str, Secret] = field(default_factory=dict)
    """The credentials that were sent, by name: a server may say them back in an error."""

    def go_on(self, run: _Run, decision: ApprovalGiven) -> _Run:
        """Go on with a decision, and append to the recording if there is one."""
        return cast("_Run", self.finished(self.resumed(run), partial(go_on, run.state), run, decision))

    async def ago_on(self, run: _Run, decision: ApprovalGiven) -> _Run:
        """The async version of :meth:`go_on`."""
        more = self.afinished(self.resumed(run), partial(ago_on, run.state), run, decision)
        return cast("_Run", await more)

    def finished(
        self,
        recording: _Recording,
        drive: Callable[..., Run],
        before: Run | None = None,
        decision: ApprovalGiven | None = None,
    ) -> AgentRun[Any]:
        """Perform a run, or go on with one.

        :param recording: its files
        :param drive: the driver's function, without its ports
        :param before: the run that goes on
        :param decision: about the call at which that run rests
        """
        with self._opened(recording, decision) as (ports, journal):
            ended = drive(ports, journal=journal, observe=self.observe, inbox=self.inbox)
        return self._made_of(ended, before, ports)

    async def afinished(
        self,
        recording: _Recording,
        drive: Callable[..., Awaitable[Run]],
        before: Run | None = None,
        decision: ApprovalGiven | None = None,
    ) -> AgentRun[Any]:
        """The async version of :meth:`finished`."""
        async with self._aopened(recording, decision) as (ports, journal):
            ended = await drive(ports, journal=journal, observe=self.observe, inbox=self.inbox)
        return self._made_of(ended, before, ports)

    def streamed(
        self,
        recording: _Recording,
        drive: Callable[..., Generator[StreamEvent, None, None]],
        before: Run | None = None,
        decision: ApprovalGiven | None = None,
    ) -> Generator[AgentEvent[Any], None, None]:
        """Perform it like :meth:`finished`, and yield what happens."""
        ended = list[Run]()
        with (
            self._opened(recording, decision) as (ports, journal),
            closing(drive(ports, journal=journal, inbox=self.inbox)) as events,
        ):
            for event in events:
                if isinstance(event, RunEnded):
                    ended.append(event.run)
                else:
                    yield event
        # Only now, since a recording that was refused raises at the end of its block.
        yield RunEnded(self._made_of(ended[0], before, ports))

    async def astreamed(
        self,
        recording: _Recording,
        drive: Callable[..., AsyncGenerator[StreamEvent, None]],
        before: Run | None = None,
        decision: ApprovalGiven | None = None,
    ) -> AsyncGenerator[AgentEvent[Any], None]:
        """The async version of :meth:`streamed`."""
        ended = list[Run]()
        async with (
            self._aopened(recording, decision) as (ports, journal),
            aclosing(drive(ports, journal=journal, inbox=self.inbox)) as events,
        ):
            async for event in events:
                if isinstance(event, RunEnded):
                    ended.append(event.run)
                else:
                    yield event
        yield RunEnded(self._made_of(ended[0], before, ports))

    @contextmanager
    def _opened(
        self, recording: _Recording, decision: ApprovalGiven | None
    ) -> Generator[tuple[Ports, Journal | None]]:
        """The ports and the journal of a run."""
        with recording as files, self.agent.ports(files and files.tape and files.tape.transport()) as ports:
            approver = ports.approver

            def decide(effect: AskApproval) -> ApprovalGiven | None:
                return decision if decision and effect.ref == decision.ref else approver.decide(effect)

            yield replace(ports, approver=DecidingBy(decide)), files or self.journal

    @asynccontextmanager
    async def _aopened(
        self, recording: _Recording, decision: ApprovalGiven | None
    ) -> AsyncGenerator[tuple[AsyncPorts, Journal | None]]:
        """The async version of :meth:`_opened`."""
        with recording as files:
            transport = files and files.tape and files.tape.async_transport()
            async with self.agent.aports(transport) as ports:
                approver = ports.approver

                async def decide(effect: AskApproval) -> ApprovalGiven | None:
                    if decision and effect.ref == decision.ref:
                        return decision
                    return await approver.decide(effect)

                yield replace(ports, approver=AsyncDecidingBy(decide)), files or self.journal

    def _made_of(self, run: Run, before: Run | None, ports: Ports | AsyncPorts) -> AgentRun[Any]:
        """The agent's run, which goes on in this way, with the conversation before it."""
        going_on = replace(self, sent={name: Secret(value) for name, value in ports.secrets.items()})
        if before is None:
            return AgentRun(run.state, run.notes, going_on, run.timing, run.server)
        notes, timing = before.notes + run.notes, before.timing + run.timing
        return AgentRun(run.state, notes, going_on, timing, run.server)

    def value(self, run: Run) -> object:
        """The output of a run that has completed."""
        return run.text if self.output is None else self.output.value(run)

    def shown(self, text: str) -> str:
        """The text without what the agent sends and nobody shall see."""
        return scrubbed(text, {name: value.reveal() for name, value in self.sent.items()})

    @contextmanager
    def recorded(self, plan: Plan, *, streams: bool = False) -> Generator[RecordedFiles | None]:
        """The files of a new recording, both written or neither.

        :param streams: whether a run that is interrupted is kept too: its journal ends with the cancellation
        """
        if self.record is None:
            yield None
            return
        from toolreel._replay import RecordedFiles

        keeping: Keeping = "overwrite" if self.overwrite else "new"
        files = RecordedFiles(self.record, plan, self._known_secrets(), keeping)
        try:
            yield files
        except BaseException as stopped:
            cancelled = streams and not isinstance(stopped, Exception)
            files.close(keep=cancelled, ended=cancelled)
            raise
        files.close(keep=True, ended=True)
        if files.refused is not None:
            raise files.refused

    @contextmanager
    def resumed(self, run: Run) -> Generator[ResumedFiles | None]:
        """The files of a recording that goes on.

        :raises ConfigError: if it has gone on without this run
        """
        if self.record is None:
            yield None
            return
        from toolreel._replay import ResumedFiles

        files = ResumedFiles(self.record, self._known_secrets(), durable=False)
        try:
            if files.trace.run.state != run.state:
                raise ConfigError(
                    f"{self.record.name} has gone on after this run; go on with its last run, or begin "
                    "another conversation with agent.run([*run.messages, ...])"
                )
            yield files
        finally:
            files.close()
        if files.refused is not None:
            raise files.refused

    def _known_secrets(self) -> dict[str, str]:
        return {**known_secrets(os.environ), **self.agent.secrets}


# An endpoint that may block, in an async run.


@dataclass(frozen=True, slots=True)
class ThreadedEndpoint:
    """Async version of an endpoint that may block."""

    endpoint: Endpoint

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the endpoint sends."""
        return secrets_of(self.endpoint)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request in a thread."""
        return await awaited(in_thread("request", partial(self.endpoint.send, effect)))

    async def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply, from a thread, and last the event."""
        pieces = pieces_of(self.endpoint, effect)
        try:
            while (piece := await awaited(in_thread("request", partial(next, pieces, None)))) is not None:
                yield piece
        finally:
            with suppress(ValueError):  # a thread that was abandoned still waits for the next piece
                pieces.close()


def awaited_endpoint(endpoint: Endpoint | AsyncEndpoint) -> AsyncEndpoint:
    """An endpoint for async runs."""
    if iscoroutinefunction(endpoint.send):
        return cast("AsyncEndpoint", endpoint)
    return ThreadedEndpoint(cast("Endpoint", endpoint))
