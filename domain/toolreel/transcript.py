"""The history of a run: stored as it was, and encoded once for going out.

Appending costs the same at the first message and at the ten-thousandth, and states of one run
share their common past.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyrsistent import PVector, pvector

from toolreel.digest import chain
from toolreel.jsontext import JsonText
from toolreel.messages import Message, wire
from toolreel.projection import Projection

__all__ = ["Transcript"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages in order, with the texts that go out for them; made by :meth:`of` and :meth:`append`."""

    messages: PVector[Message]
    """As they are stored."""
    texts: PVector[JsonText]
    """The wire form of what :mod:`toolreel.projection` makes of them."""
    chain: str
    """SHA-256 chain over the texts: two transcripts with the same chain say the same."""
    size: int
    """UTF-8 bytes of all texts together."""
    projection: Projection

    @classmethod
    def of(cls, messages: Iterable[Message] = ()) -> Transcript:
        """A transcript of these messages."""
        return cls(pvector(), pvector(), "", 0, Projection()).append(*messages)

    def append(self, *messages: Message) -> Transcript:
        """This transcript with more messages at its end."""
        projection, sent = self.projection, list[Message]()
        for message in messages:
            projection, out = projection.of(message)
            sent += out
        return self._with(self.messages.extend(messages), sent, projection)

    def complete(self) -> Transcript:
        """This transcript as it may go out now: a call that still has no result gets one that says so."""
        unanswered = self.projection.unanswered()
        return self._with(self.messages, unanswered, self.projection) if unanswered else self

    def _with(
        self, messages: PVector[Message], sent: Iterable[Message], projection: Projection
    ) -> Transcript:
        texts = [wire(message) for message in sent]
        return Transcript(
            messages,
            self.texts.extend(texts),
            chain(self.chain, *texts),
            self.size + sum(len(text.encode()) for text in texts),
            projection,
        )
