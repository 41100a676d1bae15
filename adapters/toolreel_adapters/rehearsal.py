"""Answering a run from its record.

A rehearsal follows the journal line by line: requests are answered by an endpoint (a cassette)
or from the journal itself, tools are run for real or answered from the journal, and a run that
was cancelled is cancelled again at the same place. Whatever the reducer wants must be what it
wanted when it was recorded; a cassette is asked first, since it can say what is different, and
a tool last, so that none is run for another call than the recorded one.
"""

from __future__ import annotations

from typing import assert_never

from toolreel.codec import tag
from toolreel.effects import RunTool, SendRequest, fingerprint
from toolreel.errors import ReplayMismatch
from toolreel.events import CancelRequested, Event
from toolreel_adapters.journal import Record, Recorded
from toolreel_adapters.ports import AsyncEndpoint, AsyncToolHost, Endpoint, ToolHost

__all__ = ["AsyncRehearsal", "Rehearsal"]


class Rehearsal:
    """A performer that replays a journal.

    :param endpoint: answers requests in the journal's stead
    :param tools: runs tools in the journal's stead
    """

    def __init__(
        self, recorded: Recorded, *, endpoint: Endpoint | None = None, tools: ToolHost | None = None
    ) -> None:
        self._script = _Script(recorded)
        self._endpoint = endpoint
        self._tools = tools

    def perform(self, effect: SendRequest | RunTool) -> Event:
        """The event that followed when the run was recorded.

        :raises toolreel.ReplayMismatch: if another effect was wanted then, or none
        """
        record = self._script.next(effect)
        if isinstance(record.event, CancelRequested):
            return record.event
        match effect:
            case SendRequest():
                told = self._endpoint.send(effect) if self._endpoint else None
                answer = self._script.answer(effect, record)
                return told or answer
            case RunTool():
                answer = self._script.answer(effect, record)
                return self._tools.run(effect) if self._tools else answer
            case _:
                assert_never(effect)

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
        tools: AsyncToolHost | None = None,
    ) -> None:
        self._script = _Script(recorded)
        self._endpoint = endpoint
        self._tools = tools

    async def perform(self, effect: SendRequest | RunTool) -> Event:
        """The event that followed when the run was recorded.

        :raises toolreel.ReplayMismatch: if another effect was wanted then, or none
        """
        record = self._script.next(effect)
        if isinstance(record.event, CancelRequested):
            return record.event
        match effect:
            case SendRequest():
                told = await self._endpoint.send(effect) if self._endpoint else None
                answer = self._script.answer(effect, record)
                return told or answer
            case RunTool():
                answer = self._script.answer(effect, record)
                return await self._tools.run(effect) if self._tools else answer
            case _:
                assert_never(effect)

    def finish(self) -> None:
        """Fail if a line of the journal was never reached."""
        self._script.finish()


class _Script:
    """The lines of a journal, each of which is reached once."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._reached = 0

    def next(self, effect: SendRequest | RunTool) -> Record:
        """The line that follows."""
        if self._reached >= len(self._recorded.records):
            raise ReplayMismatch(
                f"{self._recorded.source}: the journal ends, but the run wants {_shown(effect)}"
            )
        record = self._recorded.records[self._reached]
        self._reached += 1
        return record

    def answer(self, effect: SendRequest | RunTool, record: Record) -> Event:
        """The recorded event, if it answered just this effect."""
        if (record.kind, record.fp) != (tag(type(effect)), fingerprint(effect)):
            raise ReplayMismatch(
                f"{self._recorded.source}, line {record.n + 1}: the run wants {_shown(effect)}, but that is "
                f"not the {record.kind} recorded here; the plan, a tool or toolreel has changed: record again"
            )
        return record.event

    def finish(self) -> None:
        """Fail if a line is left."""
        if left := self._recorded.records[self._reached :]:
            raise ReplayMismatch(
                f"{self._recorded.source}: the run ended, but {len(left)} recorded events are left, "
                f"from line {left[0].n + 1} ({left[0].kind}) on"
            )


def _shown(effect: SendRequest | RunTool) -> str:
    match effect:
        case SendRequest():
            return f"a request with {len(effect.request.messages.texts)} messages"
        case RunTool():
            return f"{effect.name}({effect.arguments})"
        case _:
            assert_never(effect)
