"""The transcript: the append-only history of a run, with each message encoded once for sending.

Appending costs the same at any length, and the states of a run share their history. Messages are encoded
again only if earlier ones must change: when a user message ends the turn whose reasoning was sent back, and
when the history is shortened. Until then ``stored`` and ``texts`` are one object, held in memory once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, assert_never, cast, overload

from pyrsistent import PMap, PVector, pmap, pvector

from toolreel_core._conversation.content_parts import estimate_tokens_with_parts, parse_part
from toolreel_core._conversation.message import (
    AssistantMessage,
    Form,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    parts_of_message,
    wire_text,
    wire_tree,
    write_message,
)
from toolreel_core._conversation.message_input import parse_chat_message
from toolreel_core._conversation.valid_history import (
    Outgoing,
    Projection,
    project_each_message,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, JsonText, canonical, linked_digest, parse, quote
from toolreel_core._settings import estimator

# Stored messages: a rope of JSON texts, and the messages parsed from them when they are accessed.
#
# Every turn sends the whole conversation, possibly megabytes. Joining it again for each request would make
# the cost of a turn grow with the conversation. Instead, texts are joined into blocks; all later states and
# request bodies share a full block, and the texts after the last one. A message that is sent as it is stored
# is not held twice, as a value and as a text: a history holds texts only (in nearly every run, the same rope
# that is sent), and builds a value on access.


# Bodies above 128 kB cost 0.1 to 0.3 ms of page faults when they are joined: what is behind the last block is
# joined for each request, and stays far below that.
BLOCK = 32_768
"""Minimum bytes of a full block."""
_NOTHING: PVector[bytes] = pvector()


@dataclass(frozen=True, slots=True)
class Rope:
    """A sequence of JSON texts, the elements of an array; appending costs the same at any length."""

    full: PVector[bytes] = _NOTHING
    """Blocks of joined texts in UTF-8; each but the first begins with a comma."""
    full_count: int = 0
    """How many texts are in those."""
    full_size: int = 0
    """UTF-8 bytes of these texts, without commas."""
    behind: PVector[bytes] = _NOTHING
    """The texts behind the full blocks."""
    size: int = 0
    """UTF-8 bytes of all texts, without commas."""

    def append(self, text: bytes) -> Rope:
        """This rope with one more text at its end.

        >>> [*Rope().append(b"1").append(b'"a"')]
        ['1', '"a"']
        """
        size, behind = self.size + len(text), self.behind.append(text)
        if size - self.full_size < BLOCK:
            return Rope(self.full, self.full_count, self.full_size, behind, size)
        return Rope(self.full.append(self._joined(behind)), self.count + 1, size, _NOTHING, size)

    @property
    def count(self) -> int:
        return self.full_count + len(self.behind)

    def pieces(self) -> tuple[bytes, ...]:
        """The comma-separated texts in pieces; all but the last piece are shared with earlier ropes."""
        return (*self.full, self._joined(self.behind)) if self.behind else tuple(self.full)

    def _joined(self, behind: PVector[bytes]) -> bytes:
        return (b"," if self.full else b"") + b",".join(behind)

    def values(self) -> Iterator[Json]:
        """The parsed values, lazily: one block at a time, then text by text."""
        return self.values_containing_any(b"")

    def values_containing_any(self, *words: bytes) -> Iterator[Json]:
        """The parsed values of each block or single text that contains one of the words."""
        for block in self.full:
            if any(word in block for word in words):
                yield from _parse_values(block)
        for text in self.behind:
            if any(word in text for word in words):
                yield _parse_value(text)

    def values_from_the_end(self) -> Iterator[Json]:
        """The parsed values, newest first."""
        for text in reversed(self.behind):
            yield _parse_value(text)
        for block in reversed(self.full):
            yield from reversed(_parse_values(block))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[JsonText]:
        return map(canonical, self.values())

    def __getitem__(self, index: int) -> JsonText:
        texts: list[JsonText] = [*self]
        return texts[index]


def _parse_value(text: bytes) -> Json:
    return parse(JsonText(text.decode()))


def _parse_values(block: bytes) -> Sequence[Json]:
    return cast("Sequence[Json]", _parse_value(b"[%b]" % block.removeprefix(b",")))


@dataclass(frozen=True, slots=True, repr=False)
class StoredMessages(Sequence[Message]):
    """Messages in order, each parsed on access: iterate instead of indexing."""

    memos: Rope
    """The :func:`stored_message_text` of each."""

    def __len__(self) -> int:
        return self.memos.count

    def __iter__(self) -> Iterator[Message]:
        return map(_restored_message, self.memos.values())

    def __reversed__(self) -> Iterator[Message]:
        return map(_restored_message, self.memos.values_from_the_end())

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return tuple(self)[index]

    def __repr__(self) -> str:
        return f"StoredMessages({[*self]})"

    def messages_that_may_mention(self, *words: str) -> Iterator[Message]:
        """The messages that contain one of the words, and possibly others; most others are not parsed."""
        # The words are searched in the JSON text, so they are escaped as JSON first. No message has half a
        # surrogate pair, but a word may have one, and must not fail.
        inside = [quote(word)[1:-1].encode("utf-8", "surrogatepass") for word in words]
        return map(_restored_message, self.memos.values_containing_any(*inside))


@dataclass(frozen=True, slots=True)
class Quotable:
    """The texts of a history that a model may quote: those of users and tools."""

    history: StoredMessages
    sent: StoredMessages | None = None
    """What is sent, if that has a text that is not stored: a summary."""

    def among(self, *words: str) -> Iterator[str]:
        """A subset of the texts, including all that contain one of the words."""
        sent = () if self.sent is None else self.sent.messages_that_may_mention(*words)
        for message in chain(self.history.messages_that_may_mention(*words), sent):
            if isinstance(message, ToolMessage | UserMessage):
                yield message.content

    def __iter__(self) -> Iterator[str]:
        return self.among("")


def is_restorable_from_wire(message: Message) -> bool:
    """Whether a message can be restored from its wire form."""
    if not isinstance(message, AssistantMessage):
        return True
    if message.extras is NOTHING and all(call.extras is NOTHING for call in message.calls):
        return True
    # Provider fields are merged into it, so one with the name of a standard field would replace that.
    try:
        return parse_chat_message(wire_tree(message), "message") == message
    except ConfigError:
        return False


def stored_message_text(message: Message) -> JsonText:
    """The text that restores a message: its wire form if possible, else a list of its parts."""
    if not isinstance(message, AssistantMessage) or is_restorable_from_wire(message):
        return wire_text(message)
    calls = [[call.id, call.name, call.arguments, call.extras] for call in message.calls]
    return canonical([message.content, calls, message.extras])


def _restored_message(value: Json) -> Message:
    tree = cast("Any", value)
    if isinstance(tree, list):
        content, calls_, extras = tree
        sent = [SentCall(id_, name, arguments, JsonText(own)) for id_, name, arguments, own in calls_]
        return AssistantMessage(content, tuple(sent), JsonText(extras))
    message = parse_chat_message(tree, "message")
    if isinstance(message, UserMessage) and not isinstance(tree["content"], str):
        # Parts stay parts here, also where all of them are texts.
        return replace(message, parts=tuple([parse_part(part, "content") for part in tree["content"]]))
    return message


_PLAIN = Form()
_NO_TEXTS = Rope()
_NO_QUIRKS: PMap[str, int] = pmap()


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
    """The system's text as JSON, in a form in which it is not a message."""
    unfinished: bytes = b""
    """The results so far of a turn, in a form where all results of a turn are one message."""

    @classmethod
    def of(
        cls, messages: Iterable[Message] = (), form: Form = _PLAIN, *, kept: Iterable[Message] | None = None
    ) -> Transcript:
        """A transcript of these messages, of which only those ``kept`` go out, if given.

        :param kept: what of them goes out, where that is not all
        """
        if kept is not None:
            return replace(cls.of((), form), stored=_append_stored_messages(_NO_TEXTS, messages)).shortened(
                kept
            )
        if form.estimator:
            # One that nobody knows is a mistake even where there is nothing to count.
            estimator(form.estimator)
        stored = tuple(messages)
        steps = [*project_each_message(stored, form.provider)]
        in_order = tuple(message for message, _, _ in steps) == stored
        at = cls(_NO_TEXTS, None, form, _NO_TEXTS, b"", 0, _NO_QUIRKS, Projection(form.provider))
        for message, projection, sent in steps:
            at = at._append_outgoing(sent, projection, message if in_order else None)
        return at if in_order else replace(at, stored=_append_stored_messages(_NO_TEXTS, stored))

    @property
    def messages(self) -> StoredMessages:
        return StoredMessages(self.stored)

    @property
    def kept(self) -> StoredMessages | None:
        """The messages that are sent, if the history was shortened; ``None`` if all are."""
        return None if self.less is None else StoredMessages(self.less)

    @property
    def outgoing(self) -> StoredMessages:
        return self.messages if self.less is None else StoredMessages(self.less)

    @property
    def chain(self) -> str:
        """SHA-256 chain over the texts: two transcripts with the same chain say the same."""
        return self.links.hex()

    def append(self, *messages: Message) -> Transcript:
        after = self
        for message in messages:
            if after._changes_earlier(message):
                every = [*self.outgoing, *messages]
                if self.less is None:
                    return Transcript.of(every, self.form)
                return replace(self, stored=_append_stored_messages(self.stored, messages)).shortened(every)
            projection, sent = after.projection.of(message)
            after = after._append_outgoing(sent, projection, message)
        return after

    def shortened(self, kept: Iterable[Message]) -> Transcript:
        """A transcript with the same messages stored, of which only these go out."""
        out = Transcript.of(kept, self.form)
        return replace(out, stored=self.stored, less=out.stored)

    def complete(self) -> Transcript:
        """This transcript with a result for each unanswered call, since providers reject one without."""
        if not self.projection.waiting:
            return self
        return self._append_outgoing(
            self.projection.results_for_unanswered_calls(), self.projection.answered(), None
        )

    def with_reminder(self, reminder: UserMessage) -> Transcript:
        """This transcript with a message at its end that is sent and not stored."""
        # Unlike a message of the user, it begins no turn: reasoning that is sent back stays.
        projection, sent = self.projection.of(reminder)
        return self._append_outgoing(sent, projection, None)

    def _changes_earlier(self, message: Message) -> bool:
        """Whether appending this message changes what is sent before it."""
        provider = self.form.provider
        match message:
            case ToolMessage():
                return self.projection.is_late(message)
            case UserMessage():
                return provider.reasoning_replay == "current_turn"
            case SystemMessage():
                return provider.single_leading_system
            case AssistantMessage():
                return False
            case _:
                assert_never(message)

    def _append_outgoing(
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
            out = write_message(entry.message, form, opens=entry.opens, closes=entry.closes)
            data = out.text.encode()
            links = linked_digest(links, data)
            if chat:
                texts = texts.append(data)
            elif form.has_separate_system and isinstance(entry.message, SystemMessage):
                system = data
            elif form.has_separate_system and not entry.closes:
                unfinished += data + b","
            else:
                texts, unfinished = texts.append(unfinished + data), b""
                for text in out.further:
                    more = text.encode()
                    texts, links = texts.append(more), linked_digest(links, more)
            if estimated is not None:
                whole = "".join((out.text, *out.further))
                tokens += estimate_tokens_with_parts(parts_of_message(entry.message), whole, estimated)
            for name in (*entry.quirks, *out.quirks):
                quirks = quirks.set(name, (quirks.get(name, 0)) + 1)
                unchanged = False
        stored, less = self.stored, self.less
        if message is not None:
            unchanged = unchanged and is_restorable_from_wire(message)
            note = data if unchanged else stored_message_text(message).encode()
            stored = texts if unchanged and stored is self.texts else stored.append(note)
            if less is not None:
                less = texts if unchanged and less is self.texts else less.append(note)
        return Transcript(stored, less, form, texts, links, tokens, quirks, projection, system, unfinished)


def _append_stored_messages(before: Rope, messages: Iterable[Message]) -> Rope:
    for message in messages:
        before = before.append(stored_message_text(message).encode())
    return before
