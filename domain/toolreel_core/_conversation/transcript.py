"""The transcript: the append-only history of a run, with each message encoded once for sending.

Appending costs the same at the first message and at the ten-thousandth, and the states of a run share their
common history. Messages are encoded again only if earlier ones must change: when a user message ends the
turn whose reasoning was sent back, and when the history is shortened. While all stored messages are sent
unchanged, ``stored`` and ``texts`` are one object, so the history is held in memory once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyrsistent import PMap, pmap

from toolreel_core._conversation.content_parts import tokens_with
from toolreel_core._conversation.message import Message, SystemMessage, UserMessage, parts_of
from toolreel_core._conversation.message_rope import Rope, StoredMessages, memo, wire_is_memo
from toolreel_core._conversation.provider_quirks import Form, written
from toolreel_core._conversation.valid_history import Outgoing, Projection, arranged, is_late, turn_begins
from toolreel_core._jsontext import JsonText, linked
from toolreel_core._settings import Estimator, estimator

_PLAIN: Final = Form()
_NO_TEXTS: Final = Rope()
_NO_QUIRKS: Final[PMap[str, int]] = pmap()
_PROMPTS: Final = (UserMessage, SystemMessage)


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages in order, with the texts that go out for them; made by :meth:`of` and :meth:`append`."""

    stored: Rope
    """The memo of each message; the same object as ``texts`` until a message is sent in another form."""
    less: Rope | None
    """The memos of the messages that are sent, if the history was shortened; else ``None``."""
    form: Form
    texts: Rope
    """The wire form of what :mod:`~toolreel_core._conversation.valid_history` sends."""
    links: bytes
    """The chain, before it is written as text."""
    tokens: int
    """Tokens of all texts together by the form's estimator; 0 where it names none."""
    quirks: PMap[str, int]
    """How many of the texts each setting or transform has changed."""
    projection: Projection
    system: bytes = b""
    """What the system says, in a form where it is no message: a JSON text."""
    unfinished: bytes = b""
    """The results so far of a turn, in a form where all results of a turn are one message."""

    @classmethod
    def of(
        cls, messages: Iterable[Message] = (), form: Form = _PLAIN, *, kept: Iterable[Message] | None = None
    ) -> Transcript:
        """A transcript of these messages.

        :param kept: what of them goes out, where that is not all
        """
        if kept is not None:
            return _shortened_to(_append_memos(_NO_TEXTS, messages), kept, form)
        if form.estimator:
            # One that nobody knows is a mistake even where there is nothing to count.
            estimator(form.estimator)
        stored, projection = tuple(messages), Projection(form.provider)
        at = cls(_NO_TEXTS, None, form, _NO_TEXTS, b"", 0, _NO_QUIRKS, projection)
        outgoing = arranged(stored, form.provider)
        others = [entry.message for entry in outgoing]
        in_order, begins = tuple(others) == stored, turn_begins(others)
        for place, entry in enumerate(outgoing):
            at = at._append_outgoing(entry, entry.message if in_order else None, fresh=place >= begins)
        return at if in_order else replace(at, stored=_append_memos(_NO_TEXTS, stored))

    @property
    def messages(self) -> StoredMessages:
        """The stored messages."""
        return StoredMessages(self.stored)

    @property
    def kept(self) -> StoredMessages | None:
        """The messages that are sent, if the history was shortened; ``None`` if all are."""
        return None if self.less is None else StoredMessages(self.less)

    @property
    def outgoing(self) -> StoredMessages:
        """The stored messages that are sent, before projection."""
        return self.messages if self.less is None else StoredMessages(self.less)

    @property
    def chain(self) -> str:
        """SHA-256 chain over the texts: two transcripts with the same chain say the same."""
        return self.links.hex()

    @property
    def size(self) -> int:
        """UTF-8 bytes of all texts together."""
        return self.texts.size

    def append(self, *messages: Message) -> Transcript:
        """This transcript with more messages at its end."""
        prompts = [message for message in messages if isinstance(message, _PROMPTS)]
        if prompts and any(map(self._changes_earlier, prompts)):
            return self._encode_again(messages)
        after = self
        for message in messages:
            if is_late(after.projection, message):  # it belongs before what was sent meanwhile
                return self._encode_again(messages)
            projection, sent = after.projection.of(message)
            after = after._append_written(sent, projection, message)
        return after

    def shortened(self, kept: Iterable[Message]) -> Transcript:
        """This transcript, shortened: from now on only these messages are sent."""
        return _shortened_to(self.stored, kept, self.form)

    def complete(self) -> Transcript:
        """This transcript with a result for each unanswered call, since providers reject one without."""
        if not self.projection.waiting:
            return self
        return self._append_written(self.projection.unanswered(), self.projection.answered(), None)

    def reminded(self, reminder: UserMessage) -> Transcript:
        """This transcript with a message at its end that is sent and not stored.

        Unlike a message of the user, it begins no turn: reasoning that is sent back stays.
        """
        projection, sent = self.projection.of(reminder)
        return self._append_written(sent, projection, None)

    def _changes_earlier(self, message: UserMessage | SystemMessage) -> bool:
        """Whether appending this message changes how earlier ones are sent."""
        provider = self.form.provider
        if isinstance(message, UserMessage):
            return provider.reasoning_replay == "current_turn"
        return provider.single_leading_system

    def _encode_again(self, messages: Sequence[Message]) -> Transcript:
        """This transcript with more messages, and every message encoded again."""
        if self.less is None:
            return Transcript.of([*self.messages, *messages], self.form)
        return _shortened_to(
            _append_memos(self.stored, messages), [*StoredMessages(self.less), *messages], self.form
        )

    def _append_outgoing(self, outgoing: Outgoing, message: Message | None, *, fresh: bool) -> Transcript:
        """This transcript with a message that was arranged; see :meth:`_append_written`."""
        projection, sent = self.projection.of(outgoing.message, fresh=fresh)
        if outgoing.quirks:
            sent = (*sent[:-1], sent[-1]._replace(quirks=(*outgoing.quirks, *sent[-1].quirks)))
        return self._append_written(sent, projection, message)

    def _append_written(
        self, sent: Sequence[Outgoing], projection: Projection, message: Message | None
    ) -> Transcript:
        """This transcript with what goes out for one more message, and that message, if one is stored."""
        form, texts, links, tokens, quirks = self.form, self.texts, self.links, self.tokens, self.quirks
        estimated = estimator(form.estimator) if form.estimator else None
        system, unfinished = self.system, self.unfinished
        chat = form.provider.wire_form == "chat_completions"
        unchanged = chat and len(sent) == 1 and sent[0].message is message
        data = b""
        for entry in sent:
            out = written(entry.message, form, opens=entry.opens, closes=entry.closes)
            data = out.text.encode()
            links = linked(links, data)
            if chat:
                texts = texts.append(data)
            elif form.system_apart and isinstance(entry.message, SystemMessage):
                system = data
            elif form.system_apart and not entry.closes:
                unfinished += data + b","
            else:
                texts, unfinished = texts.append(unfinished + data), b""
                for text in out.further:
                    more = text.encode()
                    texts, links = texts.append(more), linked(links, more)
            if estimated is not None:
                tokens += tokens_of(entry.message, JsonText("".join((out.text, *out.further))), estimated)
            for name in (*entry.quirks, *out.quirks):
                quirks = quirks.set(name, (quirks.get(name, 0)) + 1)
                unchanged = False
        stored, less = self.stored, self.less
        if message is not None:
            unchanged = unchanged and wire_is_memo(message)
            note = data if unchanged else memo(message).encode()
            stored = texts if unchanged and stored is self.texts else stored.append(note)
            if less is not None:
                less = texts if unchanged and less is self.texts else less.append(note)
        return Transcript(stored, less, form, texts, links, tokens, quirks, projection, system, unfinished)


def tokens_of(message: Message, text: JsonText, estimate: Estimator) -> int:
    """Estimated tokens of a message.

    :param text: the message as it is sent
    """
    parts = parts_of(message)
    return tokens_with(parts, text, estimate) if parts else estimate(text)


def _shortened_to(stored: Rope, kept: Iterable[Message], form: Form) -> Transcript:
    """A transcript of messages that are stored already, of which only some go out."""
    out = Transcript.of(kept, form)
    return replace(out, stored=stored, less=out.stored)


def _append_memos(before: Rope, messages: Iterable[Message]) -> Rope:
    """A row that more messages can be read back from."""
    for message in messages:
        before = before.append(memo(message).encode())
    return before
