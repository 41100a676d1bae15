"""Read a body of any form as chat completions: the one place where the three forms meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, assert_never

from toolreel_core._jsontext import NOTHING, Json, JsonText, as_tree, canonical, items_of, read, tree_at
from toolreel_core._replies.classification import STREAM_CUT
from toolreel_core._replies.event_assembly import Translated
from toolreel_core._replies.messages import MessageEvents, chat_of_message
from toolreel_core._replies.normalize import BLANK, FIELDS, is_stream
from toolreel_core._replies.responses import ResponseEvents, chat_of_response
from toolreel_core._replies.sse import Frame, Frames
from toolreel_core._replies.stream import Delta, Stream, chat_deltas_in, deltas_of, unstreamed
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._settings import WireForm


class ReadAsChat(NamedTuple):
    """A body in the chat-completions form, and what was noticed."""

    body: Json
    codes: tuple[WarningCode, ...] = ()
    carry: JsonText = NOTHING
    """What has to go back with the message; see :class:`Translated`."""
    paused: bool = False
    """Whether the server goes on when the message is sent back."""
    own: Json = None
    """The body in its own form, as if it had not been streamed; null if that is chat completions."""


def as_chat(body: str, form: WireForm) -> ReadAsChat:
    """A body as chat completions would have it, and as if it had not been streamed.

    >>> as_chat('{"content":"Hi.","stop_reason":"end_turn"}', "messages").body["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi.'}
    """
    if form == "chat_completions":
        return ReadAsChat(*unstreamed(body))
    if not is_stream(body):
        own = read(body).value_or(body)
        translated = _chat_of_body(own, form)
        return ReadAsChat(translated.body, (), translated.carry, translated.paused, own)
    stream = stream_in(form).feed(body)[0].close()[0]
    joined = stream.whole()
    translated = _chat_of_body(joined, form)
    codes: tuple[WarningCode, ...] = ("STREAM_FRAME_LOST",) if stream.lost else ()
    return ReadAsChat(translated.body, codes, translated.carry, translated.paused, joined)


def form_in(body: str) -> WireForm | None:
    """The form of a body, as far as it says so itself.

    >>> form_in('{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}')
    'messages'
    """
    if is_stream(body):
        frames, found = Frames().feed(body)
        tree = next((frame for frame in (*found, *frames.close()) if isinstance(frame, Mapping)), {})
    else:
        tree = as_tree(read(body).value_or(""))
    kind = tree.get("type")
    if "choices" in tree:
        return "chat_completions"
    if tree.get("object") == "response" or (isinstance(kind, str) and kind.startswith("response.")):
        return "responses"
    return "messages" if kind in ("message", "message_start") else None


def deltas_in(body: str, form: WireForm, *, whole: bool) -> tuple[Delta, ...]:
    """The chunks to display of a body that was received as a whole.

    :param whole: whether to include a body that is not a stream
    """
    if form == "chat_completions":
        return chat_deltas_in(body, whole=whole)
    stream, deltas = stream_in(form).feed(body)
    if stream.streamed or not whole:
        return deltas + stream.close()[1]
    choices = items_of(as_tree(_chat_of_body(read(body).value_or(""), form).body), "choices")
    return deltas_of(tree_at(as_tree(choices[0]), "message")) if choices else ()


def _chat_of_body(body: Json, form: WireForm) -> Translated:
    return chat_of_message(body) if form == "messages" else chat_of_response(body)


_CUT: Final = "the stream ended before the reply was complete"
_LOST: Final = "a part of the stream could not be read, and may have been part of a tool call"


@dataclass(frozen=True, slots=True)
class EventStream:
    r"""The state of a streamed reply: an immutable value, fed with text in arbitrary chunks.

    >>> stream, deltas = EventStream(MessageEvents()).feed(
    ...     'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
    ... )
    >>> deltas
    (Delta(kind='content', text='Hi', index=0, call_id='', name=''),)
    """

    events: MessageEvents | ResponseEvents
    streamed: bool | None = None
    """Whether the body is a stream at all; ``None`` until its first characters decide."""
    done: bool = False
    """Whether the rest can be ignored."""
    progress: int = 0
    """Number of meaningful events; a watchdog checks that it grows."""
    opening: str = ""
    """The text so far, while ``streamed`` is undecided."""
    frames: Frames = field(default_factory=Frames)
    lost: bool = False
    """Whether an event could not be parsed."""
    chat: Stream | None = None
    """The stream of chat completions that this one really is: some gateways translate the request alone."""

    @property
    def head(self) -> Mapping[str, Json]:
        """What is known of the reply besides what it says."""
        return self.events.head if self.chat is None else self.chat.head

    def feed(self, text: str) -> tuple[EventStream, tuple[Delta, ...]]:
        """The stream after the next chunk of text, and the deltas to display."""
        if self.done or self.streamed is False:
            return self, ()
        if self.streamed is None:
            return self._detect_streaming((self.opening + text).lstrip(BLANK))
        frames, found = self.frames.feed(text)
        return replace(self, frames=frames)._take_frames(found)

    def close(self) -> tuple[EventStream, tuple[Delta, ...]]:
        """The stream at the end of its text, and the deltas of an unterminated last line."""
        return replace(self, frames=Frames())._take_frames(self.frames.close())

    def whole(self) -> Mapping[str, Json]:
        """The body as if it had not been streamed, with an ``error`` if the stream failed."""
        closed = self.close()[0]
        if closed.chat is not None:
            return closed.chat.whole()
        events, body = closed.events, closed.events.body()
        if not events.failure and not events.complete:
            return {**body, "error": {"code": STREAM_CUT, "message": _CUT}}
        if not events.failure and closed.lost and events.calls():
            return {**body, "error": {"code": STREAM_CUT, "message": _LOST}}
        return body

    def _detect_streaming(self, opening: str) -> tuple[EventStream, tuple[Delta, ...]]:
        if opening.startswith(FIELDS):
            return replace(self, streamed=True, opening="").feed(opening)
        may_be = any(name.startswith(opening) for name in FIELDS)
        return replace(self, streamed=None if may_be else False, opening=opening if may_be else ""), ()

    def _take_frames(self, frames: Iterable[Frame]) -> tuple[EventStream, tuple[Delta, ...]]:
        at = self
        shown: list[Delta] = []
        for frame in frames:
            if at.done:
                break
            match frame:
                case "done":
                    at = replace(at, done=True)._take_chat_frame("[DONE]")[0]
                case "lost":
                    at = replace(at, lost=True)
                case Mapping():
                    at, deltas = at._take_event(frame)
                    shown += deltas
                case _:
                    assert_never(frame)
        return at, tuple(shown)

    def _take_event(self, event: Mapping[str, Json]) -> tuple[EventStream, tuple[Delta, ...]]:
        if self.chat is not None or ("choices" in event and not isinstance(event.get("type"), str)):
            return replace(self, chat=self.chat or Stream())._take_chat_frame(canonical(event))
        events, deltas = self.events.heard(event)
        meant = bool(deltas) or events.complete != self.events.complete
        return replace(self, events=events, done=events.over, progress=self.progress + meant), deltas

    def _take_chat_frame(self, data: str) -> tuple[EventStream, tuple[Delta, ...]]:
        """After a frame of a stream of chat completions, if this is one."""
        if self.chat is None:
            return self, ()
        chat, deltas = self.chat.feed(f"data: {data}\n\n")
        return replace(
            self, chat=replace(chat, lost=self.lost), progress=chat.progress, done=chat.done
        ), deltas


def stream_in(form: WireForm) -> Stream | EventStream:
    """An empty stream of this form."""
    match form:
        case "chat_completions":
            return Stream()
        case "messages":
            return EventStream(MessageEvents())
        case "responses":
            return EventStream(ResponseEvents())
        case _:
            assert_never(form)
