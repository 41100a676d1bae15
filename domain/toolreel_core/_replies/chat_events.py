"""A streamed chat completion: its chunks, joined into the body that it would have been.

A reply is complete after ``[DONE]`` or a finish reason. Comments and empty deltas, with which servers keep a
connection alive, do not count as progress (NeuralNote#249, agent-zero#1882).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyrsistent import PVector, pvector

from toolreel_core._jsontext import Json, Tree, as_list, encodable_text, tree_at
from toolreel_core._replies.classification import top_level_error
from toolreel_core._replies.deltas import joined_message, normalized_call_id
from toolreel_core._replies.event_assembly import Delta, Deltas, Events, integer_field

_HEAD = (
    "id",
    "created",
    "model",
    "provider",
    "system_fingerprint",
    "service_tier",
    "usage",
    "timings",
)
_OF_CHOICE = ("finish_reason", "native_finish_reason")
_CALLS = frozenset({"tool_calls", "function_call", "tool_use"})
"""Message keys and finish reasons that announce tool calls."""
_FIRST = (0, "0", None)
"""Index of the one choice that is read; some servers send text or nothing."""
_NOTHING: Tree = {}
_NO_DELTAS: PVector[Tree] = pvector()


@dataclass(frozen=True, slots=True)
class ChatEvents(Events):
    choice: Mapping[str, str] = field(default_factory=dict)
    """Finish reason of the choice, and the provider's native one."""
    deltas: PVector[Tree] = _NO_DELTAS
    message: Tree = field(default_factory=dict)
    """The whole message that some servers send after its deltas, or next to each of them."""
    misplaced: bool = False
    """Whether calls were next to the deltas instead of inside them."""
    spelled: bool = False
    """Whether a chunk had a ``delta``; some servers call every one of them ``message``."""
    kinds: frozenset[str] = frozenset()
    """The kinds of chunks that were displayed."""
    others: bool = False
    calls_of_others: PVector[Tree] = _NO_DELTAS
    """Deltas with the calls of further choices, in case the first one announces calls and has none
    (BerriAI/litellm#19506)."""

    def add_event(self, event: Tree) -> tuple[ChatEvents, Deltas]:
        choices = choices_of(event)
        mine = next((choice for choice in choices if choice.get("index") in _FIRST), _NOTHING)
        others = [choice for choice in choices if choice is not mine]
        is_error = event.get("object") == "error" or ("choices" not in event and top_level_error(event))
        if failure := event.get("error") or mine.get("error") or (event if is_error else None):
            return replace(self, failure=failure, over=True), ()
        delta, message = delta_in_choice(mine), _NOTHING
        # A whole message after or next to deltas.
        if isinstance(whole := mine.get("message"), Mapping):
            if isinstance(mine.get("delta"), Mapping):
                message = whole
            elif self.spelled:
                delta, message = _NOTHING, whole
        # Calls may be next to a delta without any, in its choice or in the chunk.
        misplaced = None if delta.get("tool_calls") else mine.get("tool_calls") or event.get("tool_calls")
        apart = self.misplaced
        if misplaced and not apart and any(each.get("tool_calls") for each in self.deltas):
            message = {**message, "tool_calls": misplaced}  # inside a delta before: here they are said again
        elif misplaced:
            delta, apart = {**delta, "tool_calls": misplaced}, True
        shown = normalized_deltas(delta)
        if message:
            # What the deltas have shown is not shown again.
            told = self.kinds.union(each.kind for each in shown)
            shown = (*shown, *(each for each in normalized_deltas(message) if each.kind not in told))
        # Moonshot reports the usage in the choice, Groq under ``x_groq``.
        elsewhere = mine.get("usage") or tree_at(event, "x_groq").get("usage")
        usage = {"usage": elsewhere} if elsewhere else _NOTHING
        ended = {key: word for key in _OF_CHOICE if isinstance(word := mine.get(key), str) and word.strip()}
        silent = bool(ended or delta.get("reasoning_details") or delta.get("refusal"))
        return replace(
            self,
            silent=self.silent + silent,
            complete=self.complete or "finish_reason" in ended,
            head={**self.head, **usage, **{key: event[key] for key in _HEAD if event.get(key)}},
            choice={**self.choice, **ended},
            deltas=self.deltas.append(delta) if delta else self.deltas,
            message={**self.message, **{key: value for key, value in message.items() if value}},
            misplaced=apart,
            spelled=self.spelled or isinstance(mine.get("delta"), Mapping),
            kinds=self.kinds.union(each.kind for each in shown),
            others=self.others or bool(others),
            calls_of_others=self.calls_of_others.extend(
                {"tool_calls": calls} for one in others if (calls := delta_in_choice(one).get("tool_calls"))
            ),
        ), shown

    def has_calls(self) -> bool:
        """Whether there is a call in it, or its finish reason announces one."""
        said = {key for each in (*self.deltas, self.message) for key in each if each[key] is not None}
        return not _CALLS.isdisjoint({*said, self.choice.get("finish_reason")})

    def body(self) -> Tree:
        message = joined_message(self.deltas, self.message)
        # Left next to the message, where the reader of replies finds them and says so.
        beside = {"tool_calls": message.pop("tool_calls")} if self.misplaced else {}
        choice: Tree = {"index": 0, "message": message, **beside, "finish_reason": None, **self.choice}
        others: Tree = {"index": 1, "message": joined_message(self.calls_of_others)}
        further: list[Json] = [others] if self.others else []
        began = bool(self.deltas or self.message or self.choice)
        listed = [choice, *further] if began else []
        return {"object": "chat.completion", **self.head, "choices": listed}


def normalized_deltas(delta: Tree) -> Deltas:
    # Some servers send the same reasoning under both names.
    reasoning = _texts_of_content(delta.get("reasoning_content")) or _texts_of_content(delta.get("reasoning"))
    said = [Delta("reasoning", text) for text in reasoning]
    said += [Delta("content", text) for text in _texts_of_content(delta.get("content"))]
    for place, call in enumerate(
        (*as_list(delta.get("tool_calls")), {"function": delta.get("function_call"), "index": 0})
    ):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping):
            continue
        number = integer_field(call, "index")
        at, id_ = place if number is None else number, normalized_call_id(call.get("id")) or ""
        # The name first, as :class:`Delta` promises, though both may be in one chunk.
        said += [Delta("tool_call", text, at, id_, text) for text in _texts_of_content(function.get("name"))]
        said += [Delta("tool_call", text, at, id_) for text in _texts_of_content(function.get("arguments"))]
    return tuple(said)


def choices_of(chunk: Tree) -> list[Tree]:
    return [choice for choice in as_list(chunk.get("choices")) if isinstance(choice, Mapping)]


def delta_in_choice(choice: Tree) -> Tree:
    """The delta of a choice; some servers call it ``message``, old completions have only ``text``."""
    found = (choice.get(key) for key in ("delta", "message"))
    text = choice.get("text")
    said: Tree = {"content": text} if isinstance(text, str) else _NOTHING
    return next((delta for delta in found if isinstance(delta, Mapping)), said)


def _texts_of_content(value: Json) -> tuple[str, ...]:
    match value:
        case str():
            return (encodable_text(value),) if value else ()
        case Sequence():
            parts = (part.get("text") for part in value if isinstance(part, Mapping))
            return tuple(encodable_text(text) for text in parts if isinstance(text, str) and text)
        case _:
            return ()
