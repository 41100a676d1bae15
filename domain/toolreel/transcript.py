"""The history of a run: stored as it was, and encoded once for going out.

Appending costs the same at the first message and at the ten-thousandth, and states of one run
share their common past. What goes out is written anew only where older messages have to change:
when a user message ends the turn whose reasoning went back, and when the history is shortened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pyrsistent import PMap, PVector, pmap, pvector

from toolreel.digest import chain
from toolreel.estimates import estimator
from toolreel.jsontext import JsonText
from toolreel.messages import Message, SystemMessage, UserMessage
from toolreel.outgoing import Form, written
from toolreel.projection import Projection, Shown, arranged, turn_begins

__all__ = ["Transcript"]

_PLAIN: Final = Form()
_NO_QUIRKS: Final[PMap[str, int]] = pmap()


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages in order, with the texts that go out for them; made by :meth:`of` and :meth:`append`."""

    messages: PVector[Message]
    """As they are stored."""
    kept: PVector[Message] | None
    """What of them goes out, once the history was shortened; until then, all."""
    form: Form
    texts: PVector[JsonText]
    """The wire form of what :mod:`toolreel.projection` makes of the messages that go out."""
    chain: str
    """SHA-256 chain over the texts: two transcripts with the same chain say the same."""
    size: int
    """UTF-8 bytes of all texts together."""
    tokens: int
    """Tokens of all texts together by the form's estimator; 0 where it names none."""
    quirks: PMap[str, int]
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
        blank = cls(stored, less, form, pvector(), "", 0, 0, _NO_QUIRKS, projection)
        shown = arranged(stored if less is None else less, form.provider)
        begins = turn_begins([one.message for one in shown])
        return blank._joined(shown[:begins], fresh=False)._joined(shown[begins:], fresh=True)

    @property
    def outgoing(self) -> PVector[Message]:
        """The stored messages that go out, before they are projected."""
        return self.messages if self.kept is None else self.kept

    def append(self, *messages: Message) -> Transcript:
        """This transcript with more messages at its end."""
        stored = self.messages.extend(messages)
        kept = None if self.kept is None else self.kept.extend(messages)
        if any(self._changes_the_past(message) for message in messages):
            return Transcript.of(stored, self.form, kept=kept)
        shown = tuple(Shown(message) for message in messages)
        return replace(self, messages=stored, kept=kept)._joined(shown, fresh=True)

    def shortened(self, kept: Iterable[Message]) -> Transcript:
        """This transcript, of which from now on only these messages go out."""
        return Transcript.of(self.messages, self.form, kept=kept)

    def complete(self) -> Transcript:
        """This transcript as it may go out now: a call that still has no result gets one that says so."""
        unanswered = self.projection.unanswered()
        return self._with(unanswered, replace(self.projection, waiting=())) if unanswered else self

    def _changes_the_past(self, message: Message) -> bool:
        """Whether messages that went out before have to go out otherwise once this one has joined."""
        provider = self.form.provider
        if isinstance(message, UserMessage):
            return provider.reasoning_replay == "current_turn"
        return isinstance(message, SystemMessage) and provider.single_leading_system

    def _joined(self, shown: Iterable[Shown], *, fresh: bool) -> Transcript:
        projection, sent = self.projection, list[Shown]()
        for one in shown:
            projection, out = projection.of(one.message, fresh=fresh)
            sent += out
            if one.quirks:
                sent[-1] = replace(sent[-1], quirks=(*one.quirks, *sent[-1].quirks))
        return self._with(sent, projection)

    def _with(self, sent: Iterable[Shown], projection: Projection) -> Transcript:
        texts, quirks = list[JsonText](), self.quirks
        for one in sent:
            out = written(one.message, self.form)
            texts.append(out.text)
            for name in (*one.quirks, *out.quirks):
                quirks = quirks.set(name, quirks.get(name, 0) + 1)
        name = self.form.estimator
        return replace(
            self,
            texts=self.texts.extend(texts),
            chain=chain(self.chain, *texts),
            size=self.size + sum(len(text.encode()) for text in texts),
            tokens=self.tokens + sum(map(estimator(name), texts) if name else ()),
            quirks=quirks,
            projection=projection,
        )
