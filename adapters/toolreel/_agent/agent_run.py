"""``AgentRun``: the run of an agent, which has an output of the agent's type and takes a second question."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from toolreel._driver.inbox import message_of
from toolreel._driver.run_result import Run
from toolreel._driver.streaming.events import RunEnded, ShownEvent
from toolreel_core._conversation.message_input import Said
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.events import ApprovalGiven

if TYPE_CHECKING:
    from toolreel._agent.runs import AgentRuns

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
        return cast("Value_co", self._begun_by("output_of(YourType).value(run)").value(self))

    def reply(self, content: Said) -> AgentRun[Value_co]:
        """Say something: after the end this begins the next exchange of the same conversation.

        If the run rests at an approval, the message is kept, and sent after the decision. A recorded run goes
        on in its recording.

        :param content: what the user says: a text, or texts, images, audio and files in a list
        :raises ConfigError: if the message is empty, or the recording has gone on without this run
        """
        return self._begun_by("speak(run, content, ports)").reply(self, message_of(content))

    async def areply(self, content: Said) -> AgentRun[Value_co]:
        """The async version of :meth:`reply`."""
        return await self._begun_by("aspeak(run, content, ports)").areply(self, message_of(content))

    def reply_stream(self, content: Said) -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`reply`, and yield what there is to show, as it happens.

        The pieces of a reply arrive one by one if the conversation began with ``stream`` or ``astream``, or
        the agent's ``config`` has ``{"stream": "always"}``; else each reply comes as a whole.
        """
        return self._begun_by("stream_on(run.state, ports, say=content)").stream_on(
            self, message_of(content), None
        )

    def areply_stream(self, content: Said) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`reply_stream`."""
        return self._begun_by("astream_on(run.state, ports, say=content)").astream_on(
            self, message_of(content), None
        )

    def approve_stream(self) -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`approve`, and yield what there is to show, as :meth:`reply_stream` does.

        :raises ConfigError: if the run rests at no call
        """
        return self._decided_stream(ApprovalGiven(self._asked().ref, True))

    def deny_stream(self, reason: str = "") -> Generator[AgentEvent[Value_co], None, None]:
        """Like :meth:`deny`, and yield what there is to show."""
        return self._decided_stream(ApprovalGiven(self._asked().ref, False, reason))

    def aapprove_stream(self) -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`approve_stream`."""
        return self._adecided_stream(ApprovalGiven(self._asked().ref, True))

    def adeny_stream(self, reason: str = "") -> AsyncGenerator[AgentEvent[Value_co], None]:
        """The async version of :meth:`deny_stream`."""
        return self._adecided_stream(ApprovalGiven(self._asked().ref, False, reason))

    def _decided_stream(self, decision: ApprovalGiven) -> Generator[AgentEvent[Value_co], None, None]:
        return self._begun_by("stream_on(run.state, ports) with an approver").stream_on(self, None, decision)

    def _adecided_stream(self, decision: ApprovalGiven) -> AsyncGenerator[AgentEvent[Value_co], None]:
        return self._begun_by("astream_on(run.state, ports) with an approver").astream_on(
            self, None, decision
        )

    def _recording(self) -> Path | None:
        return None if self.continuation is None else cast("AgentRuns", self.continuation).record

    # Those of the base, in place of what a dataclass with slots would get: a continuation may hold a key.
    __getstate__ = Run.__getstate__
    __setstate__ = Run.__setstate__

    def _begun_by(self, instead: str) -> AgentRuns:
        if self.continuation is None:
            raise ConfigError(f"the run was pickled and knows no agent; write {instead}")
        return cast("AgentRuns", self.continuation)


AgentEvent: TypeAlias = ShownEvent | RunEnded[AgentRun[Value_co]]
"""Everything that a streamed run of an agent yields."""
