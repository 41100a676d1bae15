"""The stored history of a run: append-only, each message encoded and digested once.

Appending costs the same at the first message and at the ten-thousandth, and states of
one run share their common past.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyrsistent import PVector, pvector

from toolreel.digest import chain
from toolreel.jsontext import JsonText
from toolreel.messages import Message, wire

__all__ = ["Transcript"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages in order, with their encoded texts; made by :meth:`of` and :meth:`append`."""

    messages: PVector[Message]
    texts: PVector[JsonText]
    """``wire(message)`` of each message, in the same order."""
    chain: str
    """SHA-256 chain over the texts: two transcripts with the same chain say the same."""
    size: int
    """UTF-8 bytes of all texts together."""

    @classmethod
    def of(cls, messages: Iterable[Message] = ()) -> Transcript:
        """A transcript of these messages."""
        return cls(pvector(), pvector(), "", 0).append(*messages)

    def append(self, *messages: Message) -> Transcript:
        """This transcript with more messages at its end."""
        texts = [wire(message) for message in messages]
        return Transcript(
            self.messages.extend(messages),
            self.texts.extend(texts),
            chain(self.chain, *texts),
            self.size + sum(len(text.encode()) for text in texts),
        )
