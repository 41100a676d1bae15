"""A streamed reply of Responses or Messages: the same steps as :class:`Stream`, on events of these forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies.provider_errors import STREAM_CUT
from toolreel_core._replies.streaming.sse import FIELDS, Frame, Frames
from toolreel_core._replies.streaming.stream import BLANK, Delta, Stream
from toolreel_core._replies.wire_forms.messages_events import MessageEvents
from toolreel_core._replies.wire_forms.responses_events import ResponseEvents
from toolreel_core._settings import WireForm

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
            return self._open((self.opening + text).lstrip(BLANK))
        frames, found = self.frames.feed(text)
        return replace(self, frames=frames)._hear(found)

    def close(self) -> tuple[EventStream, tuple[Delta, ...]]:
        """The stream at the end of its text, and the deltas of an unterminated last line."""
        return replace(self, frames=Frames())._hear(self.frames.close())

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

    def _open(self, opening: str) -> tuple[EventStream, tuple[Delta, ...]]:
        if opening.startswith(FIELDS):
            return replace(self, streamed=True, opening="").feed(opening)
        may_be = any(name.startswith(opening) for name in FIELDS)
        return replace(self, streamed=None if may_be else False, opening=opening if may_be else ""), ()

    def _hear(self, frames: Iterable[Frame]) -> tuple[EventStream, tuple[Delta, ...]]:
        at = self
        shown: list[Delta] = []
        for frame in frames:
            if at.done:
                break
            match frame:
                case "done":
                    at = replace(at, done=True)._chatted("[DONE]")[0]
                case "lost":
                    at = replace(at, lost=True)
                case Mapping():
                    at, deltas = at._heard(frame)
                    shown += deltas
                case _:
                    assert_never(frame)
        return at, tuple(shown)

    def _heard(self, event: Mapping[str, Json]) -> tuple[EventStream, tuple[Delta, ...]]:
        if self.chat is not None or ("choices" in event and not isinstance(event.get("type"), str)):
            return replace(self, chat=self.chat or Stream())._chatted(canonical(event))
        events, deltas = self.events.heard(event)
        meant = bool(deltas) or events.complete != self.events.complete
        return replace(self, events=events, done=events.over, progress=self.progress + meant), deltas

    def _chatted(self, data: str) -> tuple[EventStream, tuple[Delta, ...]]:
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
