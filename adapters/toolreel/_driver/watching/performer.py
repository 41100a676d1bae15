"""Performers that tell watchers what they perform, and perform it in their scopes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from functools import partial

from toolreel._driver.ports import (
    AsyncPerformer,
    AsyncStreamingPerformer,
    Performer,
    StreamingPerformer,
    Wanted,
    secrets_of,
)
from toolreel._driver.streaming.pulling import apulled, pulled
from toolreel._driver.watching.watch import Watches
from toolreel_core._protocol import Event, SendRequest
from toolreel_core._replies import Delta


@dataclass(frozen=True, slots=True)
class Watched:
    """A performer that is watched."""

    performer: Performer
    watches: Watches

    @classmethod
    def where_wanted(cls, performer: Performer, watches: Watches | None) -> Performer:
        """The performer, watched if somebody watches."""
        return cls(performer, watches) if watches is not None and watches.scoped else performer

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the performer sends."""
        return secrets_of(self.performer)

    def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect in the scopes of the watches."""
        with self.watches.performing(effect):
            event = self.performer.perform(effect)
        self.watches.performed(effect)
        return event

    def stream(self, effect: SendRequest) -> Generator[Delta | Event | None, None, None]:
        """Each piece of the reply, read in the scopes of the watches."""
        if not isinstance(self.performer, StreamingPerformer):
            event = self.perform(effect)
            yield event
            return
        pieces, first = self.performer.stream(effect), True
        with closing(pulled(pieces, partial(self.watches.performing, effect))) as pulls:
            for piece in pulls:
                if not isinstance(piece, Delta):
                    self.watches.performed(effect)
                elif first:
                    first = False
                    self.watches.began_to_arrive(effect)
                yield piece


@dataclass(frozen=True, slots=True)
class AsyncWatched:
    """The async version of :class:`Watched`."""

    performer: AsyncPerformer
    watches: Watches

    @classmethod
    def where_wanted(cls, performer: AsyncPerformer, watches: Watches | None) -> AsyncPerformer:
        """The performer, watched if somebody watches."""
        return cls(performer, watches) if watches is not None and watches.scoped else performer

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the performer sends."""
        return secrets_of(self.performer)

    async def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect in the scopes of the watches."""
        with self.watches.performing(effect):
            event = await self.performer.perform(effect)
        self.watches.performed(effect)
        return event

    async def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | Event | None, None]:
        """Each piece of the reply, read in the scopes of the watches."""
        if not isinstance(self.performer, AsyncStreamingPerformer):
            event = await self.perform(effect)
            yield event
            return
        pieces, first = self.performer.stream(effect), True
        async with aclosing(apulled(pieces, partial(self.watches.performing, effect))) as pulls:
            async for piece in pulls:
                if not isinstance(piece, Delta):
                    self.watches.performed(effect)
                elif first:
                    first = False
                    self.watches.began_to_arrive(effect)
                yield piece
