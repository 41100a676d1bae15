"""The lines of a journal, each of which answers the effect that it was recorded for, once."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, assert_never

from toolreel._driver import NOT_MEASURED, Lap, Wanted
from toolreel._journal import Record, Recorded
from toolreel_core._errors import ReplayMismatch
from toolreel_core._protocol import (
    AskApproval,
    Event,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
    UserSpoke,
    Wait,
    fingerprint,
    tag,
)

if TYPE_CHECKING:
    from toolreel._replay.allowed_differences import AllowedDifferences


def timed(event: ReplyReceived | RequestFailed | ToolReturned, record: Record) -> Event:
    """The new event with the recorded time, so that limits on time decide the same."""
    match record.event:
        case ReplyReceived() | RequestFailed() | ToolReturned():
            return replace(event, at_ms=record.event.at_ms)
        case _:
            return event


class Reached(NamedTuple):
    """A line of a journal, and the effect for which it was used."""

    record: Record
    wanted: str
    """The effect's fingerprint, or the recorded one where the effect counts as that."""


class JournalScript:
    """The lines of a journal; each is used once. Thread-safe, since effects run concurrently.

    Most lines answer an effect, and are found by it. What the user said answers none: it is taken when the
    run reaches its place.
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

    def next(self, effect: Wanted) -> Reached | None:
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
                return Reached(self._left.pop(place), wanted)
        if isinstance(effect, AskApproval):
            return None
        raise ReplayMismatch(
            f"{self._recorded.source}: the journal ends, but the run wants {describe(effect)}; "
            "if it was killed, `toolreel resume` (or resume() in Python) finishes it"
        )

    def messages_before(self, effect: Wanted | None) -> list[UserSpoke]:
        """Take what stands before the line that answers an effect; without one, before the first unused."""
        with self._lock:
            end = None if effect is None else self._places.get(effect.ref)
            end = next(iter(self._left), None) if end is None else end
            return [self._said.pop(at) for at in [*self._said] if end is None or at < end]

    def lap_of(self, effect: Wanted) -> Lap | None:
        """The times on the line that answered an effect; ``None`` if none did."""
        with self._lock:
            place = self._places.get(effect.ref)
        return None if place is None else self._recorded.records[place].lap or NOT_MEASURED

    @property
    def awaits_user(self) -> bool:
        """Whether the next line is what the user says."""
        with self._lock:
            first, at = next(iter(self._left), None), next(iter(self._said), None)
            return at is not None and (first is None or at < first)

    def next_messages(self) -> UserSpoke | None:
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
        self, effect: Wanted, reached: Reached, reply: ReplyReceived | RequestFailed | None = None
    ) -> Event:
        """The new reply or the recorded event, if the line answers this very effect."""
        record = reached.record
        if (record.kind, record.fp) != (tag(type(effect)), reached.wanted):
            raise ReplayMismatch(
                f"{self._recorded.source}, line {record.line}: the run wants {describe(effect)}, but that "
                f"is not the {record.kind} recorded here; the plan, a tool or toolreel has changed: "
                "record again"
            )
        return record.event if reply is None else timed(reply, record)

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
            return f"a request with {len(effect.request.sent.texts)} messages"
        case RunTool():
            return f"{effect.name}({effect.arguments})"
        case AskApproval():
            return f"approval of {effect.name}({effect.arguments})"
        case Wait():
            return f"to wait {effect.ms} ms"
        case _:
            assert_never(effect)
