"""A streamed reply as a value: deltas to display while it arrives, and the whole body at the end.

A stream is complete after ``[DONE]`` or a finish reason. A stream that ends before is truncated, even if its
content looks complete, and is a retryable error; so is one that reports an error in the middle
(OmniRoute#8210, goose#8027). Comments and empty deltas, with which servers keep a connection alive, do not
count as progress (NeuralNote#249, agent-zero#1882).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, assert_never

from pyrsistent import PVector, pvector

from toolreel_core._jsontext import Json, read, sound, tree_at
from toolreel_core._replies.classification import STREAM_CUT, bare_error
from toolreel_core._replies.deltas import identity_of, index_of, joined
from toolreel_core._replies.normalize import BLANK, FIELDS, is_stream
from toolreel_core._replies.sse import Frame, Frames
from toolreel_core._replies.warning_codes import WarningCode

_HEAD: Final = (
    "id",
    "created",
    "model",
    "provider",
    "system_fingerprint",
    "service_tier",
    "usage",
    "timings",
)
_OF_CHOICE: Final = ("finish_reason", "native_finish_reason")
_CALLS: Final = frozenset({"tool_calls", "function_call", "tool_use"})
"""Message keys and finish reasons that announce tool calls."""
_FIRST: Final = (0, "0", None)
"""Index of the one choice that is read; some servers send text or nothing."""
_NOTHING: Final[Mapping[str, Json]] = {}
_NO_DELTAS: Final[PVector[Mapping[str, Json]]] = pvector()


@dataclass(frozen=True, slots=True)
class Delta:
    """A chunk of a reply, for display while it arrives."""

    kind: Literal["content", "reasoning", "tool_call"]
    text: str
    """Never empty; for a tool call first the name, then chunks of the arguments."""
    index: int = 0
    """Of a tool call: its place among the calls of the reply, as far as the server says."""
    call_id: str = ""
    """Of a tool call: the id that this chunk gives it; most servers send it with the name only."""
    name: str = ""
    """Of a tool call: its name, if this chunk is that; empty for a chunk of the arguments."""


@dataclass(frozen=True, slots=True)
class Stream:
    r"""The state of a streamed reply: an immutable value, fed with text in arbitrary chunks.

    >>> stream, deltas = Stream().feed('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n')
    >>> deltas
    (Delta(kind='content', text='Hi', index=0, call_id='', name=''),)
    >>> stream, _ = stream.feed("data: [DONE]\n\n")
    >>> stream.done
    True
    """

    streamed: bool | None = None
    """Whether the body is a stream at all; ``None`` until its first characters decide."""
    done: bool = False
    """Whether the rest can be ignored: the stream ended with ``[DONE]`` or reported an error."""
    progress: int = 0
    """Number of meaningful chunks; a watchdog checks that it grows."""
    opening: str = ""
    """The text so far, while ``streamed`` is undecided."""
    frames: Frames = field(default_factory=Frames)
    head: Mapping[str, Json] = field(default_factory=dict)
    """Fields of the reply as a whole, such as id, model and usage."""
    choice: Mapping[str, str] = field(default_factory=dict)
    """Finish reason of the choice, and the provider's native one."""
    deltas: PVector[Mapping[str, Json]] = _NO_DELTAS
    """The deltas of the first choice, unchanged."""
    message: Mapping[str, Json] = field(default_factory=dict)
    """The whole message that some servers send after its deltas, or next to each of them."""
    misplaced: bool = False
    """Whether calls were next to the deltas instead of inside them."""
    spelled: bool = False
    """Whether a chunk had a ``delta``; some servers call every one of them ``message``."""
    kinds: frozenset[str] = frozenset()
    """The kinds of chunks that were displayed."""
    others: bool = False
    """Whether there are further choices."""
    calls_of_others: PVector[Mapping[str, Json]] = _NO_DELTAS
    """Deltas with the calls of further choices, in case the first one announces calls and has none."""
    lost: bool = False
    """Whether a frame before the finish reason could not be parsed."""
    failure: Json = None
    """The error that the stream reported."""

    def feed(self, text: str) -> tuple[Stream, tuple[Delta, ...]]:
        """The stream after the next chunk of text, and the deltas to display."""
        if self.done or self.streamed is False:
            return self, ()
        if self.streamed is None:
            opening = (self.opening + text).lstrip(BLANK)
            if opening.startswith(FIELDS):
                return replace(self, streamed=True, opening="").feed(opening)
            may_be = any(name.startswith(opening) for name in FIELDS)
            return replace(self, streamed=None if may_be else False, opening=opening if may_be else ""), ()
        frames, found = self.frames.feed(text)
        return replace(self, frames=frames)._take_frames(found)

    def close(self) -> tuple[Stream, tuple[Delta, ...]]:
        """The stream at the end of its text, and the deltas of an unterminated last line."""
        closed = replace(self, frames=Frames())
        return closed._take_frames(self.frames.close())

    def whole(self) -> Mapping[str, Json]:
        """The body as if it had not been streamed, with an ``error`` if the stream failed."""
        at, _ = self.close()
        message = joined(at.deltas, at.message)
        failure = at.failure
        if not failure and not at.done and "finish_reason" not in at.choice:
            failure = _cut_error("the stream ended before the reply was complete")
        # Lost text is only a gap in an answer, but a gap in a call could change what runs.
        if not failure and at.lost and not _CALLS.isdisjoint({*message, at.choice.get("finish_reason")}):
            failure = _cut_error(
                "a part of the stream could not be read, and may have been part of a tool call"
            )
        # Left next to the message, where the reader of replies finds them and says so.
        beside = {"tool_calls": message.pop("tool_calls")} if at.misplaced else {}
        choices: list[Json] = [{"index": 0, "message": message, **beside, "finish_reason": None, **at.choice}]
        announced = {"message": joined(at.calls_of_others)} if at.calls_of_others else {}
        further: list[Json] = [{"index": 1, **announced}] if at.others else []
        began = bool(at.deltas) or bool(at.message) or bool(at.choice)
        error = {"error": failure} if failure else {}
        listed = choices + further if began else []
        return {"object": "chat.completion", **error, **at.head, "choices": listed}

    def _take_frames(self, frames: Iterable[Frame]) -> tuple[Stream, tuple[Delta, ...]]:
        at = self
        shown: list[Delta] = []
        for frame in frames:
            if at.done:
                break
            match frame:
                case "done":
                    at = replace(at, done=True)
                case "lost":
                    at = replace(at, lost=at.lost or "finish_reason" not in at.choice)
                case Mapping():
                    at, deltas = at._take_chunk(frame)
                    shown += deltas
                case _:
                    assert_never(frame)
        return at, tuple(shown)

    def _take_chunk(self, chunk: Mapping[str, Json]) -> tuple[Stream, tuple[Delta, ...]]:
        choices = _choices_of_chunk(chunk)
        first = [choice for choice in choices if choice.get("index") in _FIRST][:1]
        mine = first[0] if first else _NOTHING
        is_error = chunk.get("object") == "error" or ("choices" not in chunk and bare_error(chunk))
        if failure := chunk.get("error") or mine.get("error") or (chunk if is_error else None):
            return replace(self, failure=failure, done=True), ()
        delta, message = self._delta_and_message(mine)
        # Calls may be next to a delta without any, in its choice or in the chunk.
        misplaced = None if delta.get("tool_calls") else mine.get("tool_calls") or chunk.get("tool_calls")
        beside: Mapping[str, Json] = {"tool_calls": misplaced} if misplaced else _NOTHING
        if beside and self._has_calls():
            message = {**message, **beside}  # inside a delta before: here they are said again
        elif beside:
            delta = {**delta, **beside}
        shown = deltas_of(delta)
        if message:
            told = self.kinds.union(each.kind for each in shown)
            shown = (*shown, *(each for each in deltas_of(message) if each.kind not in told))
        # Moonshot reports the usage in the choice, Groq under ``x_groq``.
        elsewhere = mine.get("usage") or tree_at(chunk, "x_groq").get("usage")
        usage = {"usage": elsewhere} if elsewhere else _NOTHING
        ended = {key: word for key in _OF_CHOICE if isinstance(word := mine.get(key), str) and word.strip()}
        said = bool(shown or ended or delta.get("reasoning_details") or delta.get("refusal"))
        return replace(
            self,
            progress=self.progress + said,
            head={**self.head, **usage, **{key: chunk[key] for key in _HEAD if chunk.get(key)}},
            choice={**self.choice, **ended},
            deltas=self.deltas.append(delta) if delta else self.deltas,
            message={**self.message, **{key: value for key, value in message.items() if value}},
            misplaced=self.misplaced or (bool(beside) and not self._has_calls()),
            spelled=self.spelled or isinstance(mine.get("delta"), Mapping),
            kinds=self.kinds.union(each.kind for each in shown),
            others=self.others or len(choices) > len(first),
            calls_of_others=self.calls_of_others.extend(
                {"tool_calls": calls}
                for one in choices
                if one not in first and (calls := _delta_of_choice(one).get("tool_calls"))
            ),
        ), shown

    def _delta_and_message(self, choice: Mapping[str, Json]) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """The delta of a chunk, and the whole message after or next to deltas."""
        message = choice.get("message")
        if isinstance(message, Mapping):
            if isinstance(choice.get("delta"), Mapping):
                return _delta_of_choice(choice), message
            if self.spelled:
                return _NOTHING, message
        return _delta_of_choice(choice), _NOTHING

    def _has_calls(self) -> bool:
        return not self.misplaced and any(delta.get("tool_calls") for delta in self.deltas)


def deltas_of(delta: Mapping[str, Json]) -> tuple[Delta, ...]:
    """The chunks to display of a delta, or of a whole message.

    >>> [(delta.kind, delta.text) for delta in deltas_of({"content": "Hi", "reasoning": "Be brief."})]
    [('reasoning', 'Be brief.'), ('content', 'Hi')]
    """
    # Some servers send the same reasoning under both names.
    reasoning = _texts_of_content(delta.get("reasoning_content")) or _texts_of_content(delta.get("reasoning"))
    said = [Delta("reasoning", text) for text in reasoning]
    said += [Delta("content", text) for text in _texts_of_content(delta.get("content"))]
    calls = delta.get("tool_calls")
    listed = calls if isinstance(calls, Sequence) else [calls]
    for place, call in enumerate((*listed, {"function": delta.get("function_call"), "index": 0})):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping):
            continue
        number = index_of(call.get("index"))
        at, id_ = place if number is None else number, identity_of(call.get("id")) or ""
        said += [Delta("tool_call", text, at, id_, text) for text in _texts_of_content(function.get("name"))]
        said += [Delta("tool_call", text, at, id_) for text in _texts_of_content(function.get("arguments"))]
    return tuple(said)


def chat_deltas_in(body: str, *, whole: bool) -> tuple[Delta, ...]:
    """The chunks to display of a body that was received as a whole.

    >>> chat_deltas_in('{"choices":[{"message":{"content":"Hi"}}]}', whole=True)
    (Delta(kind='content', text='Hi', index=0, call_id='', name=''),)

    :param whole: whether to include a body that is not a stream
    """
    stream, deltas = Stream().feed(body)
    if stream.streamed or not whole:
        return deltas + stream.close()[1]
    tree = read(body).value_or(None)
    choices = _choices_of_chunk(tree) if isinstance(tree, Mapping) else []
    return deltas_of(_delta_of_choice(choices[0])) if choices else ()


def unstreamed(body: str) -> tuple[Json, tuple[WarningCode, ...]]:
    """A body as if it had not been streamed, and the warning codes of repairs.

    The body itself decides, not the request: servers stream unasked, or answer with JSON (llm_wiki#619).
    """
    if not is_stream(body):
        return body, ()
    stream = Stream().feed(body)[0].close()[0]
    return stream.whole(), ("STREAM_FRAME_LOST",) if stream.lost else ()


def _cut_error(why: str) -> Json:
    return {"code": STREAM_CUT, "message": why}


def _choices_of_chunk(chunk: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    choices = chunk.get("choices")
    listed = choices if isinstance(choices, Sequence) else [choices]
    return [choice for choice in listed if isinstance(choice, Mapping)]


def _delta_of_choice(choice: Mapping[str, Json]) -> Mapping[str, Json]:
    """The delta of a choice; some servers call it ``message``, old completions have only ``text``."""
    found = (choice.get(key) for key in ("delta", "message"))
    text = choice.get("text")
    said: Mapping[str, Json] = {"content": text} if isinstance(text, str) else _NOTHING
    return next((delta for delta in found if isinstance(delta, Mapping)), said)


def _texts_of_content(value: Json) -> tuple[str, ...]:
    """The non-empty texts of a content, which may be a list of parts."""
    match value:
        case str():
            return (sound(value),) if value else ()
        case Sequence():
            parts = (part.get("text") for part in value if isinstance(part, Mapping))
            return tuple(sound(text) for text in parts if isinstance(text, str) and text)
        case _:
            return ()
