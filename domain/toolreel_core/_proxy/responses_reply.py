"""A reply in the form of OpenAI's Responses, from a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._conversation import Items, SentCall
from toolreel_core._jsontext import Json, Tree, as_tree, items_of
from toolreel_core._proxy.completion import OWN, Completion
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
    key=OWN,
    is_call=lambda item: type_of(as_tree(item)) == "function_call",
    text_in=_item_text,
    may_go_back=lambda _: True,
    text=lambda text: item_of("text", text),
    call=_function_call_item,
)


def item_of(kind: str, text: str) -> Tree:
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
        return _ITEMS.of(said.message(whole_items(said.own)))
    if said.refused:
        return [_message_item({"type": "refusal", "refusal": said.text})]
    thought = [item_of("thinking", said.thought)] if said.thought else []
    return [*thought, *_ITEMS.of(said.message(()))]


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
def begun(body: Tree) -> Iterator[Tree]:
    """The events before the first item."""
    response: Tree = {**body, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": response}
    yield {"type": "response.in_progress", "response": response}


def opened(place: int, kind: str, block: Tree) -> Iterator[Tree]:
    """The events with which a text begins."""
    empty: Tree = (
        {"type": "message", "role": "assistant", "content": []}
        if kind == "text"
        else {"type": "reasoning", "summary": [], "content": []}
    )
    item: Tree = {"id": block["id"], "status": "in_progress", **empty}
    yield {"type": "response.output_item.added", "output_index": place, "item": item}
    yield {
        "type": "response.content_part.added",
        **_event_place(place, block),
        "part": _content_part(kind, ""),
    }


def piece(place: int, kind: str, text: str, block: Tree) -> Iterator[Tree]:
    """The event with more of a text."""
    yield {"type": f"{_NAMES[kind]}.delta", **_event_place(place, block), "delta": text, **_logprobs(kind)}


def closed(place: int, kind: str, block: Tree) -> Iterator[Tree]:
    """The events with which an item ends, whose text has passed."""
    content = [*map(as_tree, items_of(block, "content"))]
    text = "".join(str(part.get("text", "")) for part in content)
    at = _event_place(place, block)
    yield {"type": f"{_NAMES[kind]}.done", **at, "text": text, **_logprobs(kind)}
    part = content[0] if len(content) == 1 else _content_part(kind, text)
    yield {"type": "response.content_part.done", **at, "part": part}
    yield {"type": "response.output_item.done", "output_index": place, "item": block}


def whole(place: int, block: Tree) -> Iterator[Tree]:
    """The events of an item that comes at once."""
    kind = type_of(block)
    if kind == "message":
        yield from _whole_message(place, block)
        return
    at: Tree = {"output_index": place}
    call = kind == "function_call"
    begun_: Tree = {**block, "status": "in_progress", "arguments": ""} if call else block
    yield {"type": "response.output_item.added", **at, "item": begun_}
    named: Tree = {"item_id": block["id"], **at}
    for number, part in enumerate(map(as_tree, items_of(block, "summary"))):
        where: Tree = {**named, "summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
        yield {"type": "response.reasoning_summary_text.delta", **where, "delta": part.get("text", "")}
        yield {"type": "response.reasoning_summary_text.done", **where, "text": part.get("text", "")}
        yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
    if call:
        arguments = block["arguments"]
        yield {"type": "response.function_call_arguments.delta", **named, "delta": arguments}
        done: Tree = {"arguments": arguments, "name": block["name"]}
        yield {"type": "response.function_call_arguments.done", **named, **done}
    yield {"type": "response.output_item.done", **at, "item": block}


def _whole_message(place: int, block: Tree) -> Iterator[Tree]:
    at: Tree = {"output_index": place}
    yield {
        "type": "response.output_item.added",
        **at,
        "item": {**block, "status": "in_progress", "content": []},
    }
    for number, part in enumerate(map(as_tree, items_of(block, "content"))):
        key = "refusal" if type_of(part) == "refusal" else "text"
        name = "response.refusal" if key == "refusal" else _NAMES["text"]
        where: Tree = {"item_id": block["id"], **at, "content_index": number}
        further = _logprobs(key)
        yield {"type": "response.content_part.added", **where, "part": {**part, key: ""}}
        yield {"type": f"{name}.delta", **where, "delta": part.get(key, ""), **further}
        yield {"type": f"{name}.done", **where, key: part.get(key, ""), **further}
        yield {"type": "response.content_part.done", **where, "part": part}
    yield {"type": "response.output_item.done", **at, "item": block}


def ended(body: Tree) -> Iterator[Tree]:
    """The event behind the last item."""
    yield {"type": f"response.{body['status']}", "response": body}


_NAMES: Final = {"text": "response.output_text", "thinking": "response.reasoning_text"}


def _event_place(place: int, block: Tree) -> Tree:
    return {"item_id": block["id"], "output_index": place, "content_index": 0}


def _content_part(kind: str, text: str) -> Tree:
    if kind == "text":
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "reasoning_text", "text": text}


def _logprobs(kind: str) -> Tree:
    return {"logprobs": []} if kind == "text" else {}
