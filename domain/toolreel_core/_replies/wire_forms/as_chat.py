"""Read a body of any form as chat completions: the one place where the three forms meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from toolreel_core._jsontext import NOTHING, Json, JsonText, as_tree, items_of, read, tree_at
from toolreel_core._replies.streaming.sse import FIELDS, Frames
from toolreel_core._replies.streaming.stream import BLANK, Delta, chat_deltas_in, deltas_of, unstreamed
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._replies.wire_forms import messages, responses
from toolreel_core._replies.wire_forms.event_stream import stream_in
from toolreel_core._replies.wire_forms.translated import Translated
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
    if not body.lstrip(BLANK).startswith(FIELDS):
        own = read(body).value_or(body)
        translated = _translated(own, form)
        return ReadAsChat(translated.body, (), translated.carry, translated.paused, own)
    stream = stream_in(form).feed(body)[0].close()[0]
    joined = stream.whole()
    translated = _translated(joined, form)
    codes: tuple[WarningCode, ...] = ("STREAM_FRAME_LOST",) if stream.lost else ()
    return ReadAsChat(translated.body, codes, translated.carry, translated.paused, joined)


def form_in(body: str) -> WireForm | None:
    """The form of a body, as far as it says so itself.

    >>> form_in('{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}')
    'messages'
    """
    if body.lstrip(BLANK).startswith(FIELDS):
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
    choices = items_of(as_tree(_translated(read(body).value_or(""), form).body), "choices")
    return deltas_of(tree_at(as_tree(choices[0]), "message")) if choices else ()


def _translated(body: Json, form: WireForm) -> Translated:
    return messages.chat_of_message(body) if form == "messages" else responses.chat_of_response(body)
