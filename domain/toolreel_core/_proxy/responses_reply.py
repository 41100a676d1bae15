"""A reply in the form of OpenAI's Responses, from a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._conversation import Items, SentCall
from toolreel_core._jsontext import Json, Tree, as_tree, items_of
from toolreel_core._proxy.completion import Completion
from toolreel_core._replies import type_of, whole_items

_INCOMPLETE: Final[Mapping[str, str]] = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ECHOED: Final[Mapping[str, Json]] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
}
"""What a response repeats of its request, and what it says where the request has nothing."""
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


def _item_text(item: Json) -> str | None:
    if type_of(as_tree(item)) != "message":
        return None
    parts = map(as_tree, items_of(as_tree(item), "content"))
    texts = (part.get("refusal") or part.get("text") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


def _function_call_item(call: SentCall, kept: Json) -> Tree:
    own: Tree = {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }
    return {"status": "completed", **as_tree(kept), **own}


_ITEMS: Final = Items(
    is_call=lambda item: type_of(as_tree(item)) == "function_call",
    text_in=_item_text,
    text=lambda text: text_block("text", text),
    call=_function_call_item,
)


def text_block(kind: str, text: str) -> Tree:
    """A text or a thought as an item."""
    if kind == "text":
        return _message_item(_content_part(kind, text))
    return {"type": "reasoning", "summary": [], "content": [_content_part(kind, text)]}


def _message_item(part: Tree) -> Tree:
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def body_of(said: Completion) -> Tree:
    """The reply."""
    reason = _INCOMPLETE.get(said.finish)
    echoed = {
        key: said.asked[key] if said.asked.get(key) is not None else value for key, value in _ECHOED.items()
    }
    head: Tree = {
        "id": said.id,
        "object": "response",
        "created_at": said.created,
        "error": None,
        "incomplete_details": None,
        "model": said.model,
        "store": False,
        **echoed,
    }
    own = {key: value for key, value in said.own.items() if value is not None}
    ending: Tree = {"incomplete_details": {"reason": reason}} if reason else {}
    return {
        **head,
        **ending,
        **own,
        "status": "incomplete" if reason else "completed",
        "output": [
            _with_item_id(as_tree(item), said.id, place) for place, item in enumerate(_output_items(said))
        ],
        "usage": _usage_tree(said),
    }


def _output_items(said: Completion) -> Sequence[Json]:
    if said.own:
        return _ITEMS.arranged(whole_items(said.own), said.text, said.calls)
    if said.refused:
        return [_message_item({"type": "refusal", "refusal": said.text})]
    thought = [text_block("thinking", said.thought)] if said.thought else []
    return [*thought, *_ITEMS.arranged((), said.text, said.calls)]


def _with_item_id(item: Tree, response: str, place: int) -> Tree:
    """An item with an id, which clients tell items apart by."""
    return item if item.get("id") else {**item, "id": id_of(type_of(item), response, place)}


def id_of(kind: str, response: str, place: int) -> str:
    """The id of an item that the upstream has given none."""
    return f"{_PREFIXES.get(kind, 'item')}_{response}_{place}"


def _usage_tree(said: Completion) -> Tree:
    own = as_tree(said.own.get("usage"))
    counts = said.usage
    return {
        "input_tokens": counts.prompt_tokens,
        "input_tokens_details": {"cached_tokens": counts.cached_tokens},
        "output_tokens": counts.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning_tokens},
        "total_tokens": counts.prompt_tokens + counts.completion_tokens,
        **own,
    }


# https://platform.openai.com/docs/api-reference/responses-streaming
def opening_events(body: Tree) -> Iterator[Tree]:
    """The events before the first item."""
    response: Tree = {**body, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": response}
    yield {"type": "response.in_progress", "response": response}


def block_events(place: int, item: Tree) -> Iterator[Tree]:
    """The events of an item: it begins, its text, if it has any, what belongs to it, and its end."""
    kind, at = type_of(item), {"output_index": place}
    named: Tree = {"item_id": item["id"], **at}
    empty = _EMPTY.get(kind, {})
    begun = {**item, "status": "in_progress", **empty} if empty else item
    yield {"type": "response.output_item.added", **at, "item": begun}
    for key in _PARTS if empty else ():
        for number, part in enumerate(map(as_tree, items_of(item, key))):
            yield from _part_events(key, {**named, f"{key}_index": number}, part)
    if kind == "function_call":
        done: Tree = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.delta", **named, "delta": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **named, **done}
    yield {"type": "response.output_item.done", **at, "item": item}


_EMPTY: Final[Mapping[str, Tree]] = {
    "message": {"content": []},
    "reasoning": {"summary": [], "content": []},
    "function_call": {"arguments": ""},
}
"""What an item has when it begins, which comes in deltas."""
_PARTS: Final = {"content": "response.content_part", "summary": "response.reasoning_summary_part"}
"""Where items have their texts, and the name of the events of one."""
_TEXTS: Final = {
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "summary_text": "response.reasoning_summary_text",
}


def _part_events(key: str, where: Tree, part: Tree) -> Iterator[Tree]:
    name = _TEXTS.get(type_of(part), "response.output_text")
    text_key = "refusal" if type_of(part) == "refusal" else "text"
    text, logprobs = part.get(text_key, ""), as_tree({} if type_of(part) in _TEXTS else {"logprobs": []})
    yield {"type": f"{_PARTS[key]}.added", **where, "part": {**part, text_key: ""}}
    yield {"type": f"{name}.delta", **where, "delta": text, **logprobs}
    yield {"type": f"{name}.done", **where, text_key: text, **logprobs}
    yield {"type": f"{_PARTS[key]}.done", **where, "part": part}


def closing_events(body: Tree) -> Iterator[Tree]:
    """The event behind the last item."""
    yield {"type": f"response.{body['status']}", "response": body}


def _content_part(kind: str, text: str) -> Tree:
    if kind == "text":
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "reasoning_text", "text": text}
