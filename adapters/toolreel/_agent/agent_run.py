"""``AgentRun``, the run of an agent, and how such runs are performed: begun, recorded, continued."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypedDict, TypeVar, cast

from toolreel._agent.settings import check_types
from toolreel._driver import (
    AsyncPorts,
    Incoming,
    Journal,
    Observer,
    Ports,
    Run,
    RunEnded,
    ShownEvent,
    StreamEvent,
    ago_on,
    aspeak,
    astream_on,
    await_if_awaitable,
    generate_items_in_scopes,
    go_on,
    immediately,
    items_without_suspending,
    speak,
    stream_on,
    user_message_event,
)
from toolreel._internal import printable_text
from toolreel._secrets import Secret, known_secrets, scrubbed
from toolreel.tools import Output
from toolreel_core._conversation import Said
from toolreel_core._errors import ConfigError
from toolreel_core._loop import pending
from toolreel_core._plan import Plan
from toolreel_core._protocol import ApprovalGiven, AskApproval

if TYPE_CHECKING:
    from toolreel._agent.agent import Agent
    from toolreel._replay import RecordedFiles, ResumedFiles


_Drive: TypeAlias = Callable[..., Run | Awaitable[Run]]
_StreamingDrive: TypeAlias = Callable[
    ..., Generator[StreamEvent, None, None] | AsyncGenerator[StreamEvent, None]
]
Value_co = TypeVar("Value_co", covariant=True)
"""Type of the output of an agent and its runs; a text without one."""


@dataclass(frozen=True, slots=True, repr=False)
class AgentRun(Run, Generic[Value_co]):
    """The result of an agent's run: a :class:`Run` with an output, to which one can reply."""

    runs: AgentRuns | None = field(default=None, compare=False)
    """How it goes on. It may hold a key, so it is not pickled."""

    @property
    def output(self) -> Value_co:
        """The answer, as a value of the agent's ``output``; without one, the text of the answer.

        :raises OutcomeError: if the run did not complete
        :raises OutputError: if checks of the type that JSON Schema cannot say reject the answer
        """
        self.raise_for_outcome()
        if self.state.plan.output is None:
            return cast("Value_co", self.text)
        kind: Output[Value_co] | None = self._require_agent_runs().output
        return cast("Value_co", self.text) if kind is None else kind.value(self)

    def reply(self, content: Said) -> AgentRun[Value_co]:
        """Say something: after the end this begins the next exchange of the same conversation.

        If the run rests at an approval, the message is kept, and sent after the decision. A recorded run goes
        on in its recording.

        :param content: what the user says: a text, or texts, images, audio and files in a list
        :raises ConfigError: if the message is empty, or the recording has gone on without this run
        """
        return immediately(
            self._require_agent_runs().perform(partial(speak, self, user_message_event(content)), self)
        )

    async def areply(self, content: Said) -> AgentRun[Value_co]:
        """The async version of :meth:`reply`."""
        return await self._require_agent_runs().perform(
            partial(aspeak, self, user_message_event(content)), self, awaits=True
        )

    def reply_stream(self, content: Said) -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`reply`, and yield what there is to show, as it happens.

        The pieces of a reply arrive one by one if the conversation began with ``stream`` or ``astream``, or
        the agent's ``config`` has ``{"stream": "always"}``; else each reply comes as a whole.
        """
        drive = partial(stream_on, self.state, say=user_message_event(content))
        return items_without_suspending(self._require_agent_runs().perform_stream(drive, self))

    def areply_stream(self, content: Said) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`reply_stream`."""
        drive = partial(astream_on, self.state, say=user_message_event(content))
        return self._require_agent_runs().perform_stream(drive, self, awaits=True)

    def approve(self) -> AgentRun[Value_co]:
        """Approve the call that the run rests at, and go on.

        :raises ConfigError: if it rests at no call
        """
        return immediately(self._decide(True))

    def deny(self, reason: str = "") -> AgentRun[Value_co]:
        """Deny the call that the run rests at, and go on.

        :param reason: why; the model sees it in the result of the call
        :raises ConfigError: if it rests at no call
        """
        return immediately(self._decide(False, reason))

    async def aapprove(self) -> AgentRun[Value_co]:
        """The async version of :meth:`approve`."""
        return await self._decide(True, awaits=True)

    async def adeny(self, reason: str = "") -> AgentRun[Value_co]:
        """The async version of :meth:`deny`."""
        return await self._decide(False, reason, awaits=True)

    async def _decide(self, approved: bool, reason: str = "", *, awaits: bool = False) -> AgentRun[Value_co]:
        check_types(reason=reason)
        for effect in pending(self.state):
            if isinstance(effect, AskApproval):
                decision = ApprovalGiven(effect.ref, approved, reason)
                going_on = partial(ago_on if awaits else go_on, self.state)
                return await self._require_agent_runs().perform(going_on, self, decision, awaits=awaits)
        raise ConfigError(f"the run rests at no call that needs approval: it is {self.outcome.name}")

    def _recording_path(self) -> Path | None:
        return None if self.runs is None else self.runs.record

    def _shown(self, text: str) -> str:
        sent = {} if self.runs is None else self.runs.sent
        # A server may say the credentials back in an error.
        return printable_text(scrubbed(text, {name: value.reveal() for name, value in sent.items()}))

    def __reduce__(self) -> tuple[Any, ...]:
        return AgentRun, (self.state, self.notes, self.timing, self.server)

    def _require_agent_runs(self) -> AgentRuns:
        if self.runs is None:
            raise ConfigError(
                "the run was pickled and knows no agent; write speak(run, content, ports), "
                "go_on(run.state, ports) with an approver, or output_of(YourType).value(run)"
            )
        return self.runs


AgentEvent: TypeAlias = ShownEvent | RunEnded[AgentRun[Value_co]]
"""Everything that a streamed run of an agent yields."""


class RunSettings(TypedDict, total=False):
    record: str | Path | None
    overwrite: bool
    journal: Journal | None
    inbox: Incoming | None
    observe: Observer | None


@dataclass(frozen=True, slots=True)
class _DecidedCall:
    """Has decided about one call; another approver, sync or async, decides about the others."""

    decision: ApprovalGiven
    others: Any

    def decide(self, effect: AskApproval) -> Any:  # noqa: ANN401 - as the other one
        return self.decision if effect.ref == self.decision.ref else self.others.decide(effect)


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """Performs the runs of an agent, one way; a run that rests goes on in the same way."""

    agent: Agent[Any]
    output: Output[Any] | None = None
    _: KW_ONLY
    record: Path | None = None
    """The cassette; its journal is next to it."""
    overwrite: bool = False
    journal: Journal | None = None
    inbox: Incoming | None = None
    observe: Observer | None = None
    sent: Mapping[str, Secret] = field(default_factory=dict)

    async def perform(
        self,
        drive: _Drive,
        begun: Plan | Run,
        decision: ApprovalGiven | None = None,
        *,
        awaits: bool = False,
    ) -> AgentRun[Any]:
        """Perform a run of a plan, or go on with a run.

        :param drive: the driver's function, without its ports
        :param decision: about the call at which that run rests
        :param awaits: whether the driver is the async one; else nothing suspends
        """
        async with self._open_ports(begun, decision, awaits=awaits) as (ports, journal):
            ended = await await_if_awaitable(
                drive(ports, journal=journal, observe=self.observe, inbox=self.inbox)
            )
        return self._as_agent_run(ended, begun, ports)

    async def perform_stream(
        self, drive: _StreamingDrive, begun: Plan | Run, *, awaits: bool = False
    ) -> AsyncGenerator[AgentEvent[Any], None]:
        ended = list[Run]()
        async with self._open_ports(begun, streams=True, awaits=awaits) as (ports, journal):
            driving = drive(ports, journal=journal, inbox=self.inbox)
            async with aclosing(generate_items_in_scopes(driving, nullcontext)) as events:
                async for event in events:
                    if isinstance(event, RunEnded):
                        ended.append(event.run)
                    else:
                        yield event
        # Only now, since a recording that was refused raises at the end of its block.
        yield RunEnded(self._as_agent_run(ended[0], begun, ports))

    @asynccontextmanager
    async def _open_ports(
        self,
        begun: Plan | Run,
        decision: ApprovalGiven | None = None,
        *,
        streams: bool = False,
        awaits: bool,
    ) -> AsyncGenerator[tuple[Ports | AsyncPorts, Journal | None]]:
        with self._open_recording(begun, streams=streams) as files:
            tape = files and files.tape
            transport = tape and (tape.async_transport() if awaits else tape.transport())
            async with self.agent.open_ports(transport, awaits=awaits) as ports:
                decided = {"approver": _DecidedCall(decision, ports.approver)} if decision else {}
                yield replace(ports, **decided), files.journal if files else self.journal

    def _as_agent_run(self, run: Run, begun: Plan | Run, ports: Ports | AsyncPorts) -> AgentRun[Any]:
        going_on = replace(self, sent={name: Secret(value) for name, value in ports.secrets.items()})
        notes, timing = run.notes, run.timing
        if isinstance(begun, Run):
            notes, timing = begun.notes + notes, begun.timing + timing
        return AgentRun(run.state, notes, timing, run.server, going_on)

    @contextmanager
    def _open_recording(
        self, begun: Plan | Run, *, streams: bool
    ) -> Generator[RecordedFiles | ResumedFiles | None]:
        """The files of a recording that begins, or goes on after a run.

        :param streams: whether a run that is interrupted is kept too: its journal ends with the cancellation
        """
        if self.record is None:
            yield None
            return
        from toolreel._replay import RecordedFiles, ResumedFiles

        files: RecordedFiles | ResumedFiles
        secrets = {**known_secrets(os.environ), **self.agent.secrets}
        if isinstance(begun, Run):
            files = ResumedFiles(self.record, secrets, after=begun)
        else:
            files = RecordedFiles(self.record, begun, secrets, overwrite=self.overwrite)
        try:
            yield files
        except BaseException as stopped:
            files.close(keep=streams and not isinstance(stopped, Exception))
            raise
        files.close()
        if files.refused is not None:
            raise files.refused
