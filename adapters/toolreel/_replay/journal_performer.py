"""Performers that answer a run from its journal.

A rehearsal follows the journal line by line. Requests are answered by an endpoint (a cassette) or the
journal, tool calls by real tools or the journal, and a cancelled run is cancelled again at the same place.
Each effect must be the recorded one. The order of the checks matters: a cassette is asked before the journal,
since its error shows the difference; a tool runs after the check, so that no tool runs for another call than
the recorded one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar, assert_never

from toolreel._driver.ports import (
    AsyncEndpoint,
    AsyncPerformer,
    AsyncToolHost,
    Endpoint,
    Performer,
    ToolHost,
    Wanted,
    secrets_of,
)
from toolreel._journal.format import Record, Recorded
from toolreel._journal.withheld_results import is_withheld
from toolreel_core._errors import ReplayMismatch
from toolreel_core._protocol.codec import tag
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait, fingerprint
from toolreel_core._protocol.events import CancelRequested, Event, ReplyReceived, RequestFailed, ToolReturned

if TYPE_CHECKING:
    from toolreel._replay.allowed_differences import AllowedDifferences
    from toolreel.cassette._open_cassette import Recording

Breaks: TypeAlias = Callable[[SendRequest], bool]
"""Whether the next answer of a cassette to a request is a failed exchange."""


def breaks_in(tape: Recording | None) -> Breaks:
    """The check for a cassette; without one, the answer is always no."""

    def breaks(effect: SendRequest) -> bool:
        return tape is not None and tape.breaks("POST", CHAT, *effect.request.pieces())

    return breaks


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
            return record.event
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
            return record.event
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
    """The lines of a journal; each is used once. Thread-safe, since effects run concurrently."""

    def __init__(self, recorded: Recorded, allowed: AllowedDifferences | None) -> None:
        self._recorded = recorded
        self._allowed = allowed
        self._left = OrderedDict(enumerate(recorded.records))
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
                return _Reached(self._left.pop(place), wanted)
        if isinstance(effect, AskApproval):
            return None
        raise ReplayMismatch(
            f"{self._recorded.source}: the journal ends, but the run wants {describe(effect)}; "
            "if it was killed, `toolreel resume` (or resume() in Python) finishes it"
        )

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
                f"{self._recorded.source}, line {record.n + 1}: the run wants {describe(effect)}, but that "
                f"is not the {record.kind} recorded here; the plan, a tool or toolreel has changed: "
                "record again"
            )
        return record.event if reply is None else _timed(reply, record)

    def finish(self) -> None:
        """Check that no line is left."""
        if unused := list(self._left.values()):
            raise ReplayMismatch(
                f"{self._recorded.source}: the run ended, but {len(unused)} recorded events are left, "
                f"from line {unused[0].n + 1} ({unused[0].kind}) on"
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
