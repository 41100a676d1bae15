"""Answering a run from its record.

A rehearsal follows the journal line by line: requests are answered by an endpoint (a cassette)
or from the journal itself, tools are run for real or answered from the journal, and a run that
was cancelled is cancelled again at the same place. Whatever the reducer wants must be what it
wanted when it was recorded; a cassette is asked first, since it can say what is different, and
a tool last, so that none is run for another call than the recorded one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, assert_never

from toolreel._driver.ports import AsyncEndpoint, AsyncToolHost, Endpoint, ToolHost, Wanted
from toolreel._journal.record import Record, Recorded
from toolreel_core._errors import ReplayMismatch
from toolreel_core._protocol.codec import tag
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait, fingerprint
from toolreel_core._protocol.events import CancelRequested, Event, ReplyReceived, RequestFailed, ToolReturned

if TYPE_CHECKING:
    from toolreel.cassette._tape import Recording

__all__ = ["CHAT", "AsyncRehearsal", "Breaks", "Rehearsal", "breaks_in", "came_whole", "shown"]

Breaks: TypeAlias = Callable[[SendRequest], bool]
"""Whether a cassette holds, as the next answer to a request, an exchange that broke off."""


def breaks_in(tape: Recording | None) -> Breaks:
    """The answer for a cassette, or for none, which holds nothing."""

    def breaks(effect: SendRequest) -> bool:
        return tape is not None and tape.breaks("POST", CHAT, *effect.request.pieces())

    return breaks


CHAT: Final = "/chat/completions"
_NEVER: Final = breaks_in(None)


class Rehearsal:
    """A performer that replays a journal; nobody is asked again, and no time passes.

    :param endpoint: answers requests in the journal's stead
    :param breaks: whether what the endpoint has for a request is an exchange that broke off; older
        cassettes hold none of these, and the journal answers for them
    :param tools: runs tools in the journal's stead
    """

    def __init__(
        self,
        recorded: Recorded,
        *,
        endpoint: Endpoint | None = None,
        breaks: Breaks = _NEVER,
        tools: ToolHost | None = None,
    ) -> None:
        self._script = _Script(recorded)
        self._endpoint = endpoint
        self._breaks = breaks
        self._tools = tools

    def perform(self, effect: Wanted) -> Event | None:
        """The event that followed when the run was recorded; ``None`` where the record of a resting run ends.

        :raises toolreel.ReplayMismatch: if another effect was wanted then, or none
        """
        reached = self._script.next(effect)
        if reached is None:
            return None
        record = reached.record
        if isinstance(record.event, CancelRequested):
            return record.event
        match effect:
            case SendRequest():
                by_wire = came_whole(record.event) or self._breaks(effect)
                told = self._endpoint.send(effect) if self._endpoint and by_wire else None
                return self._script.answer(effect, reached, told)
            case RunTool():
                answer = self._script.answer(effect, reached)
                return _timed(self._tools.run(effect), record) if self._tools else answer
            case AskApproval() | Wait():
                return self._script.answer(effect, reached)
            case _:
                assert_never(effect)

    @property
    def over(self) -> bool:
        """Whether every line of the journal has been reached."""
        return self._script.over

    def finish(self) -> None:
        """Fail if a line of the journal was never reached."""
        self._script.finish()


class AsyncRehearsal:
    """The same as :class:`Rehearsal`, awaited."""

    def __init__(
        self,
        recorded: Recorded,
        *,
        endpoint: AsyncEndpoint | None = None,
        breaks: Breaks = _NEVER,
        tools: AsyncToolHost | None = None,
    ) -> None:
        self._script = _Script(recorded)
        self._endpoint = endpoint
        self._breaks = breaks
        self._tools = tools

    async def perform(self, effect: Wanted) -> Event | None:
        """The event that followed when the run was recorded; ``None`` where the record of a resting run ends.

        :raises toolreel.ReplayMismatch: if another effect was wanted then, or none
        """
        reached = self._script.next(effect)
        if reached is None:
            return None
        record = reached.record
        if isinstance(record.event, CancelRequested):
            return record.event
        match effect:
            case SendRequest():
                by_wire = came_whole(record.event) or self._breaks(effect)
                told = await self._endpoint.send(effect) if self._endpoint and by_wire else None
                return self._script.answer(effect, reached, told)
            case RunTool():
                answer = self._script.answer(effect, reached)
                return _timed(await self._tools.run(effect), record) if self._tools else answer
            case AskApproval() | Wait():
                return self._script.answer(effect, reached)
            case _:
                assert_never(effect)

    @property
    def over(self) -> bool:
        """Whether every line of the journal has been reached."""
        return self._script.over

    def finish(self) -> None:
        """Fail if a line of the journal was never reached."""
        self._script.finish()


def came_whole(event: Event) -> bool:
    """Whether the event tells of a response, which every cassette holds."""
    return not isinstance(event, RequestFailed) or event.failure == "status"


def _timed(told: ReplyReceived | RequestFailed | ToolReturned, record: Record) -> Event:
    """What was told now, at the time at which it was told when the run was recorded."""
    match record.event:
        case ReplyReceived() | RequestFailed() | ToolReturned():
            return replace(told, at_ms=record.event.at_ms)
        case _:
            return told


class _Reached(NamedTuple):
    """A line of a journal, and what was wanted when it was reached."""

    record: Record
    wanted: str
    """The effect's fingerprint."""


class _Script:
    """The lines of a journal, each of which is reached once."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._left = OrderedDict(enumerate(recorded.records))
        self._lock = Lock()

    @property
    def over(self) -> bool:
        with self._lock:
            return not self._left

    def next(self, effect: Wanted) -> _Reached | None:
        """The line that answers the effect, else the first that was not reached; ``None`` after the last."""
        wanted = fingerprint(effect)
        with self._lock:
            first = place = next(iter(self._left), None)
            if place is not None and self._left[place].fp != wanted:
                places = (place for place, record in self._left.items() if record.fp == wanted)
                place = next(places, first)
            if place is not None:
                return _Reached(self._left.pop(place), wanted)
        if isinstance(effect, AskApproval):
            return None
        raise ReplayMismatch(f"{self._recorded.source}: the journal ends, but the run wants {shown(effect)}")

    def answer(
        self, effect: Wanted, reached: _Reached, told: ReplyReceived | RequestFailed | None = None
    ) -> Event:
        """What was told now, or the recorded event, if that answered just this effect."""
        record = reached.record
        if (record.kind, record.fp) != (tag(type(effect)), reached.wanted):
            raise ReplayMismatch(
                f"{self._recorded.source}, line {record.n + 1}: the run wants {shown(effect)}, but that is "
                f"not the {record.kind} recorded here; the plan, a tool or toolreel has changed: record again"
            )
        return record.event if told is None else _timed(told, record)

    def finish(self) -> None:
        """Fail if a line is left."""
        if left := list(self._left.values()):
            raise ReplayMismatch(
                f"{self._recorded.source}: the run ended, but {len(left)} recorded events are left, "
                f"from line {left[0].n + 1} ({left[0].kind}) on"
            )


def shown(effect: Wanted) -> str:
    """An effect, in words."""
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
