"""Performers that answer a run from its journal.

A rehearsal follows the journal line by line. Requests are answered by an endpoint (a cassette) or the
journal, tool calls by real tools or the journal, and a cancelled run is cancelled again at the same place.
Each effect must be the recorded one. The order of the checks matters: a cassette is asked before the journal,
since its error shows the difference; a tool runs after the check, so that no tool runs for another call than
the recorded one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, assert_never

from toolreel._driver.aio import arun, aspeak
from toolreel._driver.ports import (
    AsyncEndpoint,
    AsyncPerformer,
    AsyncToolHost,
    Endpoint,
    Journal,
    Observer,
    Performer,
    ToolHost,
    Wanted,
    secrets_of,
)
from toolreel._driver.run_result import Run
from toolreel._driver.sync import run, speak
from toolreel._journal.format import Record, Recorded
from toolreel._journal.withheld_results import is_withheld
from toolreel_core._errors import ReplayMismatch
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.codec import tag
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait, fingerprint
from toolreel_core._protocol.events import (
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
    UserSpoke,
)

if TYPE_CHECKING:
    from toolreel._replay.allowed_differences import AllowedDifferences
    from toolreel.cassette._open_cassette import Recording


@dataclass(frozen=True, slots=True)
class Breaks:
    """What a rehearsal asks a cassette about the next exchange of a request; without one, there is none."""

    tape: Recording | None

    def __call__(self, effect: SendRequest) -> bool:
        """Whether its answer is a failed exchange."""
        return self.tape is not None and self.tape.breaks("POST", CHAT, *effect.request.pieces())

    def unread(self, effect: SendRequest) -> None:
        """Pass over it: the run was cancelled when all of the reply had come, and had not read it yet."""
        if self.tape is not None:
            self.tape.pass_over("POST", CHAT, *effect.request.pieces())


def breaks_in(tape: Recording | None) -> Breaks:
    """The check for a cassette; without one, the answer is always no."""
    return Breaks(tape)


CHAT: Final = "/chat/completions"
NO_BREAKS: Final = breaks_in(None)


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
        self._script = _Script(recorded, allowed)
        self._endpoint = endpoint
        self._breaks = breaks
        self._tools = tools
        self._live = live

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that endpoint, tools and what follows the recording send, by name."""
        return secrets_of(self._endpoint, self._tools, self._live)

    def said_before(self, effect: Wanted | None, /) -> Sequence[UserSpoke]:
        """What the user said before the recorded answer to an effect, or after the end of an exchange."""
        return self._script.said_before(effect)

    def _cancelled(self, effect: Wanted, event: CancelRequested) -> CancelRequested:
        if isinstance(effect, SendRequest):
            self._breaks.unread(effect)
        return event

    def finish(self) -> None:
        """Check that every line of the journal was used.

        :raises toolreel.ReplayMismatch: if one was not
        """
        self._script.finish()


class Rehearsal(_Rehearsing[Endpoint, ToolHost, Performer]):
    """A performer that replays a journal; approvals are not asked for again, and waits take no time.

    :param endpoint: answers requests instead of the journal
    :param breaks: whether the endpoint has a failed exchange for a request; older cassettes do not store
        failures, so the journal answers for them
    :param tools: runs tools instead of the journal
    :param live: performs the effects after the last line of the journal
    :param allowed: requests that count as the recorded ones though they differ
    """

    def play(self, plan: Plan, *, journal: Journal | None = None, observe: Observer | None = None) -> Run:
        """Run a plan as the journal has it, with all that the user said between and after its exchanges."""
        done = run(plan, self, journal=journal, observe=observe, inbox=self)
        while said := self._script.said_next():
            more = speak(done, said, self, journal=journal, observe=observe, inbox=self)
            done = Run(more.state, done.notes + more.notes)
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
                return _timed(self._tools.run(effect), record)
            case AskApproval() | Wait():
                return self._script.answer(effect, reached)
            case _:
                assert_never(effect)


class AsyncRehearsal(_Rehearsing[AsyncEndpoint, AsyncToolHost, AsyncPerformer]):
    """The async version of :class:`Rehearsal`."""

    async def play(
        self, plan: Plan, *, journal: Journal | None = None, observe: Observer | None = None
    ) -> Run:
        """Run a plan as the journal has it, with all that the user said between and after its exchanges."""
        done = await arun(plan, self, journal=journal, observe=observe, inbox=self)
        while said := self._script.said_next():
            more = await aspeak(done, said, self, journal=journal, observe=observe, inbox=self)
            done = Run(more.state, done.notes + more.notes)
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
                return _timed(await self._tools.run(effect), record)
            case AskApproval() | Wait():
                return self._script.answer(effect, reached)
            case _:
                assert_never(effect)


def came_whole(event: Event) -> bool:
    """Whether there was a complete response, which every cassette stores (older ones store no failures)."""
    return not isinstance(event, RequestFailed) or event.failure == "status"


def _timed(event: ReplyReceived | RequestFailed | ToolReturned, record: Record) -> Event:
    """The new event with the recorded time, so that limits on time decide the same."""
    match record.event:
        case ReplyReceived() | RequestFailed() | ToolReturned():
            return replace(event, at_ms=record.event.at_ms)
        case _:
            return event


class _Reached(NamedTuple):
    """A line of a journal, and the effect for which it was used."""

    record: Record
    wanted: str
    """The effect's fingerprint, or the recorded one where the effect counts as that."""


class _Script:
    """The lines of a journal; each is used once. Thread-safe, since effects run concurrently.

    Most lines answer an effect, and are found by it. What the user said answers none: it is taken when the
    run comes to its place.
    """

    def __init__(self, recorded: Recorded, allowed: AllowedDifferences | None) -> None:
        self._recorded = recorded
        lines = list(enumerate(recorded.records))
        self._left = OrderedDict((at, one) for at, one in lines if not isinstance(one.event, UserSpoke))
        self._said = OrderedDict((at, one.event) for at, one in lines if isinstance(one.event, UserSpoke))
        """What the user said and the run has not taken yet, by line."""
        self._places: dict[int, int] = {}
        """The line that answered each effect, by its ``ref``."""
        self._allowed = allowed
        self._lock = Lock()

    @property
    def over(self) -> bool:
        """Whether every line has been used."""
        with self._lock:
            return not self._left

    def next(self, effect: Wanted) -> _Reached | None:
        """The line that answers the effect, else the first unused one; ``None`` after the last.

        Parallel effects may come in any order, so the fingerprint is searched in all unused lines. The first
        unused line serves for the error message, and for a recorded cancellation.
        """
        wanted = fingerprint(effect)
        with self._lock:
            first = place = next(iter(self._left), None)
            if place is not None and self._left[place].fp != wanted:
                places = (place for place, record in self._left.items() if record.fp == wanted)
                place = next(places, None)
            if place is None and first is not None:
                allowed = self._allowed_at(effect)
                place = first if allowed is None else allowed
                wanted = wanted if allowed is None else self._left[place].fp or wanted
            if place is not None:
                self._places[effect.ref] = place
                return _Reached(self._left.pop(place), wanted)
        if isinstance(effect, AskApproval):
            return None
        raise ReplayMismatch(
            f"{self._recorded.source}: the journal ends, but the run wants {describe(effect)}; "
            "if it was killed, `toolreel resume` (or resume() in Python) finishes it"
        )

    def said_before(self, effect: Wanted | None) -> list[UserSpoke]:
        """Take what stands before the line that answers an effect; without one, before the first unused."""
        with self._lock:
            end = None if effect is None else self._places.get(effect.ref)
            end = next(iter(self._left), None) if end is None else end
            return [self._said.pop(at) for at in [*self._said] if end is None or at < end]

    def said_next(self) -> UserSpoke | None:
        """Take the next line, if it is what the user says."""
        with self._lock:
            first, at = next(iter(self._left), None), next(iter(self._said), None)
            return self._said.pop(at) if at is not None and (first is None or at < first) else None

    def _allowed_at(self, effect: Wanted) -> int | None:
        """The first unused line whose effect counts as this one."""
        if self._allowed is None:
            return None
        same = self._allowed.same_effect
        return next((place for place, record in self._left.items() if same(record, effect)), None)

    def answer(
        self, effect: Wanted, reached: _Reached, reply: ReplyReceived | RequestFailed | None = None
    ) -> Event:
        """The new reply or the recorded event, if the line answers this very effect."""
        record = reached.record
        if (record.kind, record.fp) != (tag(type(effect)), reached.wanted):
            raise ReplayMismatch(
                f"{self._recorded.source}, line {record.line}: the run wants {describe(effect)}, but that "
                f"is not the {record.kind} recorded here; the plan, a tool or toolreel has changed: "
                "record again"
            )
        return record.event if reply is None else _timed(reply, record)

    def finish(self) -> None:
        """Check that no line is left."""
        places = sorted({*self._left, *self._said})
        if unused := [self._recorded.records[at] for at in places]:
            raise ReplayMismatch(
                f"{self._recorded.source}: the run ended, but {len(unused)} recorded events are left, "
                f"from line {unused[0].line} ({unused[0].kind}) on"
            )


def describe(effect: Wanted) -> str:
    """A short description of an effect, for messages."""
    match effect:
        case SendRequest():
            return f"a request with {len(effect.request.messages.texts)} messages"
        case RunTool():
            return f"{effect.name}({effect.arguments})"
        case AskApproval():
            return f"approval of {effect.name}({effect.arguments})"
        case Wait():
            return f"to wait {effect.ms} ms"
        case _:
            assert_never(effect)
