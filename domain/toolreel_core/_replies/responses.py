"""A reply in the form of OpenAI's Responses, as one of chat completions.

https://platform.openai.com/docs/api-reference/responses/object. The items are read as servers really write
them: without a type, with a content that is a text, with arguments that are an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_list,
    as_tree,
    canonical,
    finite,
    items_of,
    text_at,
    tree_at,
)
from toolreel_core._replies.event_assembly import (
    BlockEvents,
    Delta,
    DeltaKind,
    ReadAsChat,
    completion,
    number_in,
    type_of,
)
from toolreel_core._settings import RESPONSES_ITEMS

_HEAD: Final = ("id", "model", "provider", "error", "usage")
_OF_OURS: Final = frozenset({"id", "status"})
_OF_CALL: Final = _OF_OURS | {"call_id", "name", "arguments"}
_CALLS: Final = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
"""The type of a call in chat completions, and the key of what is given to it."""
_INCOMPLETE: Final[Mapping[Json, str]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
"""The finish reason for each reason why a response is incomplete."""


def chat_of_response(body: Json) -> ReadAsChat:
    """The reply as a chat completion; unchanged if it is none of this form."""
    if not isinstance(body, Mapping) or "output" not in body or "choices" in body:
        return ReadAsChat(body)
    items = [*_output_items(body["output"])] or [*_output_items(body.get("output_text"))]
    run = _calls_run_by_server(items)
    calls, text, refusal, thoughts = list[Json](), "", "", ""
    for item in items:
        match _item_type(item):
            case "message":
                for part in as_list(item.get("content")):
                    tree = {"text": part} if isinstance(part, str) else as_tree(part)
                    text += text_at(tree, "text") if tree.get("type") != "refusal" else ""
                    refusal += text_at(tree, "refusal")
            case "reasoning":  # its text is its own, or its summary
                said, summed = (
                    "".join(text_at(as_tree(part), "text") for part in items_of(item, key))
                    for key in ("content", "summary")
                )
                thoughts += said or summed
            case kind if kind in _CALLS and item.get("call_id") not in run:
                type_, argument = _CALLS[kind]
                called: Tree = {key: item.get(key) for key in ("name", argument)}
                # The result goes back under `call_id`; `id` is that of the item.
                calls.append({"id": item.get("call_id") or item.get("id"), "type": type_, type_: called})
            case _:
                continue
    chat = completion(
        {key: body[key] for key in _HEAD if body.get(key)},
        text,
        _finish_reason(body, called=bool(calls)),
        thinking=thoughts,
        tool_calls=calls,
        refusal=refusal,
    )
    return ReadAsChat(chat, carry=carried_in_responses(items))


def whole_items(body: Tree) -> list[Tree]:
    """The items of a reply, each with its type."""
    return [{**item, "type": _item_type(item)} for item in _output_items(body.get("output"))]


def _output_items(output: Json) -> Iterator[Tree]:
    """The items of an output; a text in its place is a message."""
    for item in as_list(output):
        if isinstance(item, Mapping):
            yield item
        elif isinstance(item, str):
            yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": item}]}


def _item_type(item: Tree) -> str:
    """The type of an item; where it has none, what it holds tells."""
    if kind := type_of(item):
        return kind
    if "name" in item and "arguments" in item:
        return "function_call"
    return "message" if "content" in item else ""


def _calls_run_by_server(items: Sequence[Tree]) -> list[Json]:
    """The ids of calls whose results are next to them: some agents show what they have run themselves."""
    return [
        id_ for item in items if _item_type(item) == "function_call_output" and (id_ := item.get("call_id"))
    ]


def _finish_reason(body: Tree, *, called: bool) -> Json:
    match body.get("status"):
        case "completed" | None:
            return "tool_calls" if called else "stop"
        case "incomplete":
            reason = text_at(tree_at(body, "incomplete_details"), "reason")
            return _INCOMPLETE.get(reason, reason)
        case status:
            return status


def carried_in_responses(items: Sequence[Tree]) -> JsonText:
    """The items that go back unchanged, with the places of the calls; nothing if all is text and calls."""
    if all(_item_type(item) in {"message", "function_call"} for item in items):
        return NOTHING
    run = _calls_run_by_server(items)
    # A call goes back without what the message says of it, others without their ids: a server that stores
    # nothing looks the id up all the same, and finds nothing (maximhq/bifrost#5410).
    left_out = {"function_call": _OF_CALL, "reasoning": _OF_OURS, "message": _OF_OURS}
    kept = [
        item
        if item.get("call_id") in run
        else {key: value for key, value in item.items() if key not in left_out.get(_item_type(item), ())}
        for item in items
    ]
    return canonical(finite({RESPONSES_ITEMS: kept}))


_PIECES: Final[Mapping[str, tuple[str, str, DeltaKind | None]]] = {
    "response.output_text": ("message", "text", "content"),
    "response.refusal": ("message", "refusal", None),
    "response.reasoning_text": ("reasoning", "text", "reasoning"),
    "response.reasoning_summary_text": ("reasoning", "summary_text", "reasoning"),
    "response.function_call_arguments": ("function_call", "arguments", "tool_call"),
}
"""The type of the item that each ``.delta`` and ``.done`` belongs to, the key and the display of its text."""
_HOMES: Final = {"text": "content", "refusal": "content", "summary_text": "summary", "arguments": "arguments"}
"""Where the texts of these keys are in a whole item."""
_PARTS: Final = ("content_index", "summary_index")
_ENDS: Final[Mapping[str, str]] = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""The status that each last event means."""
_BEGINS: Final = frozenset({"response.created", "response.in_progress", "response.queued"})


@dataclass(frozen=True, slots=True)
class ResponseEvents(BlockEvents):
    """What the events so far say."""

    call_type = "function_call"

    def add_event(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        """After one more event, and what to display of it."""
        kind = type_of(event)
        if kind in _BEGINS:
            return replace(self, head={**self.head, **tree_at(event, "response")}), ()
        if kind in _ENDS:
            head = {**self.head, "status": _ENDS[kind], **tree_at(event, "response")}
            return replace(self, head=head, complete=True, over=True), ()
        item, index = tree_at(event, "item"), number_in(event, "output_index")
        if kind == "response.output_item.added":
            at = self.open_value(item, index, _item_ids(item))
            called: DeltaKind | None = "tool_call" if type_of(item) == "function_call" else None
            return at, at.deltas_to_show(called, item.get("name"), item.get("call_id"), named=True)
        if kind == "response.output_item.done":
            place = self.find_place(index, _item_ids(item))
            if place is None or type_of(self.begun[place]) not in {type_of(item), ""}:
                return self.open_value(item, index, _item_ids(item)), ()
            return self.merge_value(place, item, _HOMES), ()
        if kind == "error" or event.get("error"):
            return self.with_failure(event), ()
        return self._add_delta(event, index)

    def blocks(self) -> tuple[tuple[int, Tree], ...]:
        """The items so far, each with its place."""
        whole = whole_items({"output": [*map(_joined_item, self.values())]})
        return tuple(zip(sorted(self.begun), whole, strict=True))

    def body(self) -> Tree:
        """The body as if it had not been streamed, without an error."""
        streamed, last = [*map(_joined_item, self.values())], items_of(self.head, "output")
        # The last event has all of it, but gateways leave out what they have streamed (sglang#12652).
        output = last if _count_calls_and_text(last) >= _count_calls_and_text(streamed) else streamed
        return {**self.head, "output": output or streamed}

    def _add_delta(self, event: Tree, index: int | None) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        name, _, ending = type_of(event).rpartition(".")
        kind, key, display = _PIECES.get(name, ("", "", None))
        text = text_at(event, "delta" if ending == "delta" else key.removeprefix("summary_"))
        if not key or not text:
            return self, ()
        part = next((number for name in _PARTS if (number := number_in(event, name)) is not None), 0)
        # It belongs to the item that it names, else to the newest one of its kind.
        place = self.find_place(index, (text_at(event, "item_id"),))
        if place is None:
            newest = self.begun.get(self.latest)
            if newest is not None and index is None and type_of(newest) in {kind, ""}:
                place = self.latest
            else:
                place = self.next_place() if index is None or index in self.begun else index
        known = self.has_text(place, key, part)
        at = self.add_text(place, key, text, of=kind, part=part, whole=ending == "done")
        return at, () if known and ending == "done" else at.deltas_to_show(display, text)


def _item_ids(item: Tree) -> tuple[str, ...]:
    """The ids under which pieces name an item; Ollama makes one of the id of the call (oh-my-pi#2719)."""
    own, call = text_at(item, "id"), text_at(item, "call_id")
    ids = (own,) if own else (call, f"fc_{call}")
    return ids if own or call else ()


def _count_calls_and_text(output: Sequence[Json]) -> tuple[int, bool]:
    """How many calls an output has, and whether it has a text."""
    items = [*map(as_tree, output)]
    calls = sum(item.get("type") == "function_call" for item in items)
    parts = (as_tree(part) for item in items for part in items_of(item, "content"))
    return calls, any(part.get("text") for part in parts)


def _joined_item(item: Tree) -> Tree:
    """An item whose pieces stand where its content belongs."""
    content: list[Json] = [*items_of(item, "content")]
    rest = {key: value for key, value in item.items() if key not in {"text", "refusal", "summary_text"}}
    if text := item.get("text"):
        content.append({"type": "output_text", "text": text})
    if refusal := item.get("refusal"):
        content.append({"type": "refusal", "refusal": refusal})
    if summary := item.get("summary_text"):
        return {**rest, "summary": [{"type": "summary_text", "text": summary}]}
    return {**rest, "content": content} if content else as_tree(rest)
