"""A reply in the form of OpenAI's Responses, as one of chat completions.

https://platform.openai.com/docs/api-reference/responses/object. The items are read as servers really write
them: without a type, with a content that is a text, with arguments that are an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    finite,
    items_of,
    tree_at,
)
from toolreel_core._replies.wire_forms.translated import Translated, type_of
from toolreel_core._settings import RESPONSES_ITEMS

_HEAD: Final = ("id", "model", "provider", "error", "usage")
_OF_OURS: Final = frozenset({"id", "status"})
_OF_CALL: Final = _OF_OURS | {"call_id", "name", "arguments"}
_INCOMPLETE: Final[Mapping[Json, str]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
"""The finish reason for each reason why a response is incomplete."""


def chat_of_response(body: Json) -> Translated:
    """The reply as a chat completion; unchanged if it is none of this form.

    >>> item = {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}
    >>> chat_of_response({"status": "completed", "output": [item]}).body["choices"][0]["finish_reason"]
    'stop'
    """
    if not isinstance(body, Mapping) or "output" not in body or "choices" in body:
        return Translated(body)
    items = [*_items(body["output"])] or [*_items(body.get("output_text"))]
    run = _run_by_server(items)
    calls = [called for item in items if item.get("call_id") not in run and (called := _call(item))]
    texts = [item for item in items if _kind(item) == "message"]
    thinking = "".join(text for item in items if _kind(item) == "reasoning" for text in _thoughts(item))
    message: dict[str, Json] = {"role": "assistant", "content": "".join(map(_text, texts))}
    if thinking:
        message["thinking"] = thinking
    if calls:
        message["tool_calls"] = calls
    if refusal := "".join(map(_refusal, texts)):
        message["refusal"] = refusal
    head = {key: body[key] for key in _HEAD if body.get(key)}
    choice: Tree = {"index": 0, "message": message, "finish_reason": _finish(body, called=bool(calls))}
    return Translated({**head, "choices": [choice]}, carried_in_responses(items))


def whole_items(body: Tree) -> list[Tree]:
    """The items of a reply, each with its type.

    >>> whole_items({"output": [{"name": "ping", "arguments": "{}"}]})
    [{'name': 'ping', 'arguments': '{}', 'type': 'function_call'}]
    """
    return [{**item, "type": _kind(item)} for item in _items(body.get("output"))]


def _items(output: Json) -> Iterator[Tree]:
    """The items of an output; a text in its place is a message."""
    listed = output if isinstance(output, Sequence) and not isinstance(output, str) else [output]
    for item in listed:
        if isinstance(item, Mapping):
            yield item
        elif isinstance(item, str):
            yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": item}]}


def _kind(item: Tree) -> str:
    """The type of an item; where it has none, what it holds tells."""
    if kind := type_of(item):
        return kind
    if "name" in item and "arguments" in item:
        return "function_call"
    return "message" if "content" in item else ""


def _run_by_server(items: Sequence[Tree]) -> list[Json]:
    """The ids of calls whose results are next to them: some agents show what they have run themselves."""
    return [id_ for item in items if _kind(item) == "function_call_output" and (id_ := item.get("call_id"))]


def _call(item: Tree) -> Json:
    """An item as a call of chat completions; null if it is none."""
    # The result goes back under `call_id`; `id` is that of the item.
    id_ = item.get("call_id") or item.get("id")
    match _kind(item):
        case "function_call":
            function: Tree = {"name": item.get("name"), "arguments": item.get("arguments")}
            return {"id": id_, "type": "function", "function": function}
        case "custom_tool_call":
            custom: Tree = {"name": item.get("name"), "input": item.get("input")}
            return {"id": id_, "type": "custom", "custom": custom}
        case _:
            return None


def _parts(item: Tree) -> Iterator[Tree]:
    content = item.get("content")
    if isinstance(content, str):
        yield {"type": "output_text", "text": content}
    for part in items_of(item, "content"):
        yield {"type": "output_text", "text": part} if isinstance(part, str) else as_tree(part)


def _text(item: Tree) -> str:
    texts = (part.get("text") for part in _parts(item) if part.get("type") != "refusal")
    return "".join(text for text in texts if isinstance(text, str))


def _refusal(item: Tree) -> str:
    texts = (part.get("refusal") for part in _parts(item))
    return "".join(text for text in texts if isinstance(text, str))


def _thoughts(item: Tree) -> Iterator[str]:
    """The text of a reasoning item: its own, or its summary."""
    for key in ("content", "summary"):
        texts = [as_tree(part).get("text") for part in items_of(item, key)]
        if found := [text for text in texts if isinstance(text, str) and text]:
            yield from found
            return


def _finish(body: Tree, *, called: bool) -> Json:
    match body.get("status"):
        case "completed" | None:
            return "tool_calls" if called else "stop"
        case "incomplete":
            reason = tree_at(body, "incomplete_details").get("reason")
            return _INCOMPLETE.get(reason if isinstance(reason, str) else None, reason)
        case "failed" | "cancelled":
            return "error"
        case status:
            return status


def carried_in_responses(items: Sequence[Tree]) -> JsonText:
    """The items that go back unchanged, with the places of the calls; nothing if all is text and calls."""
    if all(_kind(item) in {"message", "function_call"} for item in items):
        return NOTHING
    run = _run_by_server(items)
    kept = [item if item.get("call_id") in run else _kept(item) for item in items]
    return canonical(finite({RESPONSES_ITEMS: kept}))


def _kept(item: Tree) -> Tree:
    """An item as it goes back: a call without what the message says of it, others without their ids.

    A server that stores nothing looks the id up all the same, and finds nothing (maximhq/bifrost#5410).
    """
    match _kind(item):
        case "function_call":
            left_out = _OF_CALL
        case "reasoning" | "message":
            left_out = _OF_OURS
        case _:
            return item
    return {key: value for key, value in item.items() if key not in left_out}
