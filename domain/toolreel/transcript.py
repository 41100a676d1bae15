"""The history of a run: stored as it was, and encoded once for going out.

Appending costs the same at the first message and at the ten-thousandth, and states of one run
share their common past. What goes out is written anew only where older messages have to change:
when a user message ends the turn whose reasoning went back, and when the history is shortened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pyrsistent import PVector, pvector

from toolreel.digest import digest_of_bytes, link
from toolreel.estimates import estimator
from toolreel.ledger import Ledger
from toolreel.making import maker
from toolreel.messages import Message, SystemMessage, UserMessage
from toolreel.outgoing import Form, written
from toolreel.projection import Projection, Shown, arranged, turn_begins
from toolreel.rope import Rope

__all__ = ["Transcript"]

_PLAIN: Final = Form()
_NO_TEXTS: Final = Rope()
_NO_QUIRKS: Final[Ledger[int]] = Ledger()
_SHAPING: Final = (UserMessage, SystemMessage)


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages in order, with the texts that go out for them; made by :meth:`of` and :meth:`append`."""

    messages: PVector[Message]
    """As they are stored."""
    kept: PVector[Message] | None
    """What of them goes out, once the history was shortened; until then, all."""
    form: Form
    texts: Rope
    """The wire form of what :mod:`toolreel.projection` makes of the messages that go out."""
    chain: str
    """SHA-256 chain over the texts: two transcripts with the same chain say the same."""
    tokens: int
    """Tokens of all texts together by the form's estimator; 0 where it names none."""
    quirks: Ledger[int]
    """How many of the texts each setting or transform has changed."""
    projection: Projection

    @classmethod
    def of(
        cls, messages: Iterable[Message] = (), form: Form = _PLAIN, *, kept: Iterable[Message] | None = None
    ) -> Transcript:
        """A transcript of these messages.

        :param kept: what of them goes out, where that is not all
        """
        stored = pvector(messages)
        less = None if kept is None else pvector(kept)
        projection = Projection(form.provider)
        blank = cls(stored, less, form, _NO_TEXTS, "", 0, _NO_QUIRKS, projection)
        shown = arranged(stored if less is None else less, form.provider)
        begins = turn_begins([one.message for one in shown])
        return blank._joined(shown[:begins], fresh=False)._joined(shown[begins:], fresh=True)

    @property
    def size(self) -> int:
        """UTF-8 bytes of all texts together."""
        return self.texts.size

    @property
    def outgoing(self) -> PVector[Message]:
        """The stored messages that go out, before they are projected."""
        return self.messages if self.kept is None else self.kept

    def append(self, *messages: Message) -> Transcript:
        """This transcript with more messages at its end."""
        stored = self.messages.extend(messages)
        kept = None if self.kept is None else self.kept.extend(messages)
        told = [message for message in messages if isinstance(message, _SHAPING)]
        if told and any(map(self._changes_the_past, told)):
            return Transcript.of(stored, self.form, kept=kept)
        projection, sent = self.projection, list[Shown]()
        for message in messages:
            projection, out = projection.of(message)
            sent += out
        return self._with(sent, projection, stored, kept)

    def shortened(self, kept: Iterable[Message]) -> Transcript:
        """This transcript, of which from now on only these messages go out."""
        return Transcript.of(self.messages, self.form, kept=kept)

    def complete(self) -> Transcript:
        """This transcript as it may go out now: a call that still has no result gets one that says so."""
        if not self.projection.waiting:
            return self
        return self._with(
            self.projection.unanswered(), replace(self.projection, waiting=()), self.messages, self.kept
        )

    def _changes_the_past(self, message: UserMessage | SystemMessage) -> bool:
        """Whether messages that went out before have to go out otherwise once this one has joined."""
        provider = self.form.provider
        if isinstance(message, UserMessage):
            return provider.reasoning_replay == "current_turn"
        return provider.single_leading_system

    def _joined(self, shown: Iterable[Shown], *, fresh: bool) -> Transcript:
        projection, sent = self.projection, list[Shown]()
        for one in shown:
            projection, out = projection.of(one.message, fresh=fresh)
            sent += out
            if one.quirks:
                sent[-1] = replace(sent[-1], quirks=(*one.quirks, *sent[-1].quirks))
        return self._with(sent, projection, self.messages, self.kept)

    def _with(
        self,
        sent: Iterable[Shown],
        projection: Projection,
        stored: PVector[Message],
        kept: PVector[Message] | None,
    ) -> Transcript:
        form, texts, chain, tokens, quirks = self.form, self.texts, self.chain, self.tokens, self.quirks
        estimated = estimator(form.estimator) if form.estimator else None
        for one in sent:
            out = written(one.message, form)
            data = out.text.encode()
            texts, chain = texts.append(data), link(chain, digest_of_bytes(data))
            if estimated is not None:
                tokens += estimated(out.text)
            for name in (*one.quirks, *out.quirks):
                quirks = quirks.set(name, (quirks.get(name) or 0) + 1)
        return _transcript(stored, kept, form, texts, chain, tokens, quirks, projection)


_transcript: Final = maker(Transcript)
