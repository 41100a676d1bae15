"""Performers that answer a run from its journal.

A rehearsal follows the journal line by line. Requests are answered by an endpoint (a cassette) or the
journal, tool calls by real tools or the journal, and a cancelled run is cancelled again at the same place.
Each effect must be the recorded one. The order of the checks matters: a cassette is asked before the journal,
since its error shows the difference; a tool runs after the check, so that no tool runs for another call than
the recorded one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar, assert_never

from toolreel._driver import (
    AsyncEndpoint,
    AsyncPerformer,
    AsyncStreamingPerformer,
    AsyncToolHost,
    Endpoint,
    Journal,
    Lap,
    Observer,
    Performer,
    Run,
    StreamingPerformer,
    ToolHost,
    Wanted,
    arun,
    aspeak,
    run,
    secrets_of,
    speak,
)
from toolreel._journal import Recorded, is_withheld
from toolreel._replay.journal_script import JournalScript, timed
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AskApproval,
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    UserSpoke,
    Wait,
)
from toolreel_core._replies import Delta, deltas_in
from toolreel_core._settings import PATHS

if TYPE_CHECKING:
    from toolreel._replay.allowed_differences import AllowedDifferences
    from toolreel.cassette import Recording


@dataclass(frozen=True, slots=True)
class Breaks:
    """What a rehearsal asks a cassette about the next exchange of a request; without one, there is none."""

    tape: Recording | None

    def __call__(self, effect: SendRequest) -> bool:
        """Whether its answer is a failed exchange."""
        return self.tape is not None and self.tape.breaks(
            "POST", PATHS[effect.request.form], *effect.request.pieces()
        )

    def unread(self, effect: SendRequest) -> None:
        """Pass over it: the run was cancelled when all of the reply had come, and had not read it yet."""
        if self.tape is not None:
            self.tape.pass_over("POST", PATHS[effect.request.form], *effect.request.pieces())


NO_BREAKS: Final = Breaks(None)


_Endpoint = TypeVar("_Endpoint")
_ToolHost = TypeVar("_ToolHost")
_Performer = TypeVar("_Performer")


class _Rehearsing(Generic[_Endpoint, _ToolHost, _Performer]):
    """The parts of a rehearsal that are the same on every driver."""

    def __init__(
        self,
        recorded: Recorded,
        *,
        endpoint: _Endpoint | None = None,
        breaks: Breaks = NO_BREAKS,
        tools: _ToolHost | None = None,
        live: _Performer | None = None,
        allowed: AllowedDifferences | None = None,
    ) -> None:
        self._script = JournalScript(recorded, allowed)
        self._endpoint = endpoint
        self._breaks = breaks
        self._tools = tools
        self._live = live

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that endpoint, tools and what follows the recording send, by name."""
        return secrets_of(self._endpoint, self._tools, self._live)

    def messages_before(self, effect: Wanted | None, /) -> Sequence[UserSpoke]:
        """What the user said before the recorded answer to an effect, or after the end of an exchange."""
        return self._script.messages_before(effect)

    @property
    def awaits_user(self) -> bool:
        """Whether the next line is what the user says."""
        return self._script.awaits_user

    def skip_message(self) -> None:
        """Pass over what the user says next, since somebody else says it."""
        self._script.next_messages()

    def _cancelled(self, effect: Wanted, event: CancelRequested) -> CancelRequested:
        if isinstance(effect, SendRequest):
            self._breaks.unread(effect)
        return event

    def lap_of(self, effect: Wanted, /) -> Lap | None:
        """The recorded times of an effect; ``None`` if it came after the recording."""
        return self._script.lap_of(effect)

    def finish(self) -> None:
        """Check that every line of the journal was used.

        :raises toolreel.ReplayMismatch: if one was not
        """
        self._script.finish()


class Rehearsal(_Rehearsing[Endpoint, ToolHost, Performer]):
    """A performer that replays a journal; approvals are not asked for again, and waits take no time.

    ``stream(plan, Rehearsal(recorded))`` shows a recorded run again.

    :param endpoint: answers requests instead of the journal
    :param breaks: whether the endpoint has a failed exchange for a request; what the client itself gave up is
        in the journal alone
    :param tools: runs tools instead of the journal
    :param live: performs the effects after the last line of the journal
    :param allowed: requests that count as the recorded ones though they differ
    """

    def play(self, plan: Plan, *, journal: Journal | None = None, observe: Observer | None = None) -> Run:
        """Run a plan as the journal has it, with all that the user said between and after its exchanges."""
        done = run(plan, self, journal=journal, observe=observe, inbox=self)
        while said := self._script.next_messages():
            more = speak(done, said, self, journal=journal, observe=observe, inbox=self)
            done = Run(more.state, done.notes + more.notes, timing=done.timing + more.timing)
        return done

    def perform(self, effect: Wanted) -> Event | None:
        """The recorded event; ``None`` at the end of the record of a paused run.

        :raises toolreel.ReplayMismatch: if the recorded effect was another one, or the journal has ended
        """
        if self._live and self._script.over:
            return self._live.perform(effect)
        reached = self._script.next(effect)
        if reached is None:
            return None
        record = reached.record
        if isinstance(record.event, CancelRequested):
            return self._cancelled(effect, record.event)
        match effect:
            case SendRequest():
                by_wire = came_whole(record.event) or self._breaks(effect)
                reply = self._endpoint.send(effect) if self._endpoint and by_wire else None
                return self._script.answer(effect, reached, reply)
            case RunTool():
                answer = self._script.answer(effect, reached)
                if self._tools is None or is_withheld(answer):
                    return answer
                return timed(self._tools.run(effect), record)
            case AskApproval() | Wait():
                return self._script.answer(effect, reached)
            case _:
                assert_never(effect)

    def stream(self, effect: SendRequest) -> Generator[Delta | Event | None, None, None]:
        """Each piece of the recorded reply, at once, and last what :meth:`perform` returns.

        What follows the journal comes piece by piece, if ``live`` offers that.
        """
        live: object = self._live if self._script.over else None
        if isinstance(live, StreamingPerformer):
            with closing(live.stream(effect)) as pieces:
                yield from pieces
            return
        event = self.perform(effect)
        yield from _pieces(effect, event)
        yield event


class AsyncRehearsal(_Rehearsing[AsyncEndpoint, AsyncToolHost, AsyncPerformer]):
    """The async version of :class:`Rehearsal`."""

    async def play(
        self, plan: Plan, *, journal: Journal | None = None, observe: Observer | None = None
    ) -> Run:
        """Run a plan as the journal has it, with all that the user said between and after its exchanges."""
        done = await arun(plan, self, journal=journal, observe=observe, inbox=self)
        while said := self._script.next_messages():
            more = await aspeak(done, said, self, journal=journal, observe=observe, inbox=self)
            done = Run(more.state, done.notes + more.notes, timing=done.timing + more.timing)
        return done

    async def perform(self, effect: Wanted) -> Event | None:
        """The recorded event; ``None`` at the end of the record of a paused run.

        :raises toolreel.ReplayMismatch: if the recorded effect was another one, or the journal has ended
        """
        if self._live and self._script.over:
            return await self._live.perform(effect)
        reached = self._script.next(effect)
        if reached is None:
            return None
        record = reached.record
        if isinstance(record.event, CancelRequested):
            return self._cancelled(effect, record.event)
        match effect:
            case SendRequest():
                by_wire = came_whole(record.event) or self._breaks(effect)
                reply = await self._endpoint.send(effect) if self._endpoint and by_wire else None
                return self._script.answer(effect, reached, reply)
            case RunTool():
                answer = self._script.answer(effect, reached)
                if self._tools is None or is_withheld(answer):
                    return answer
                return timed(await self._tools.run(effect), record)
            case AskApproval() | Wait():
                return self._script.answer(effect, reached)
            case _:
                assert_never(effect)

    async def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | Event | None, None]:
        """The async version of :meth:`Rehearsal.stream`."""
        live: object = self._live if self._script.over else None
        if isinstance(live, AsyncStreamingPerformer):
            async with aclosing(live.stream(effect)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        event = await self.perform(effect)
        for piece in _pieces(effect, event):
            yield piece
        yield event


def _pieces(effect: SendRequest, event: Event | None) -> tuple[Delta, ...]:
    """The pieces in which a reply came, if it was wanted so; of any other, the event is all there is."""
    if not effect.request.streamed or not isinstance(event, ReplyReceived):
        return ()
    return deltas_in(event.body, effect.request.form, whole=True)


def came_whole(event: Event) -> bool:
    """Whether there was a complete response, which every cassette stores."""
    return not isinstance(event, RequestFailed) or event.failure == "status"
