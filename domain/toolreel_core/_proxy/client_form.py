"""Replies and errors in the form of a client: whole bodies, and the events of streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from toolreel_core._conversation import INPUT_ITEMS, MESSAGES_ITEMS, Items, SentCall
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, list_at, text_at, tree_at
from toolreel_core._replies import Usage, choices_of, type_of, typed_content_blocks, typed_output_items
from toolreel_core._settings import WireForm

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""What Anthropic calls errors (https://docs.anthropic.com/en/api/errors)."""


def error_body_in_form(form: WireForm, status: int, error: Tree) -> Tree:
    """The body of an error, which is given in OpenAI's form."""
    if form != "messages":
        return {"error": error}
    return {"type": "error", "error": {**error, "type": _TYPES.get(status, "api_error")}}


def stream_error_event(form: WireForm, status: int, error: Tree, number: int) -> Tree:
    """The last event of a stream that has begun and cannot go on, with its number."""
    if form != "responses":
        return error_body_in_form(form, status, error)
    fields = {key: error.get(key) for key in ("code", "message", "param")}
    return {"type": "error", **fields, "sequence_number": number}


OtherForm: TypeAlias = Literal["messages", "responses"]
ContentKind: TypeAlias = Literal["text", "thinking", "refusal"]


class ReplyForm(NamedTuple):
    key: str
    items: Items
    own_blocks: Callable[[Tree], Sequence[Tree]]
    """The blocks in the body of an upstream that speaks this form."""
    block: Callable[[ContentKind, str], Tree]
    """A text, a thought or a refusal as a block."""
    with_id: Callable[[Tree, str, int], Tree]
    """A block with an id made of that of its reply and its place, if it needs one."""
    head: Callable[[Tree, Usage, Tree, Tree], Tree]
    """What a body has besides blocks; see :func:`reply_body_in_form`."""
    opening_events: Callable[[Tree], Iterator[Tree]]
    block_events: Callable[[int, Tree], Iterator[Tree]]
    """It begins, its text, if it has any, what belongs to it, and its end."""
    before_text: int
    """How many events of a text come before that with its text."""
    closing_events: Callable[[Tree], Iterator[Tree]]


def reply_body_in_form(form: OtherForm, chat: Tree, usage: Usage, own: Tree, request: Tree) -> Tree:
    """A reply in one of these forms.

    :param chat: the repaired reply; without choices before anything is known
    :param own: the upstream's body, if it has spoken this form: what was not repaired stays as it is there
    :param request: the client's body
    """
    writer, message = REPLY_FORMS[form], tree_at(_first_chat_choice(chat), "message")
    refusal, thought = text_at(message, "refusal"), text_at(message, "reasoning_content")
    kinds: Mapping[ContentKind, str] = {"thinking": thought, "refusal": refusal}
    kept = (
        writer.own_blocks(own) if own else [writer.block(kind, text) for kind, text in kinds.items() if text]
    )
    blocks = writer.items.kept_items_with_calls(
        kept, refusal or text_at(message, "content"), [*_calls_in_message(message)]
    )
    id_, head = text_at(chat, "id"), writer.head(chat, usage, own, request)
    if head.get("status") == "incomplete" and blocks and blocks[-1] not in writer.own_blocks(own):
        # A client that goes by the items would run the call that was cut.
        blocks[-1] = {**as_tree(blocks[-1]), "status": "incomplete"}
    return {
        **head,
        writer.key: [writer.with_id(as_tree(block), id_, place) for place, block in enumerate(blocks)],
    }


def _first_chat_choice(chat: Tree) -> Tree:
    return next(iter(choices_of(chat)), {})


def _calls_in_message(message: Tree) -> Iterator[SentCall]:
    for entry in map(as_tree, list_at(message, "tool_calls")):
        match entry.get("function"):
            case {"name": str() as name, "arguments": str() as arguments}:
                yield SentCall(text_at(entry, "id"), name, arguments)
            case _:  # a tool without a schema, which stays among the items
                continue


# Anthropic's Messages: https://docs.anthropic.com/en/docs/build-with-claude/streaming

_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_OTHER_STOPS = ("end_turn", "model_context_window_exceeded", "pause_turn", "refusal", "stop_sequence")
"""Reasons of an upstream of the same form that are as good as those that were read."""
_OF_BLOCKS: Mapping[str, Tree] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
"""What a block has when it begins, which comes in deltas."""


def _message_block(kind: ContentKind, text: str) -> Tree:
    if kind == "thinking":
        return {"type": kind, "thinking": text, "signature": ""}
    return {"type": "text", "text": text}


def _message_without_content(chat: Tree, usage: Usage, own: Tree, _request: Tree) -> Tree:
    choice, stop = _first_chat_choice(chat), own.get("stop_reason")
    if stop not in _OTHER_STOPS or choice.get("finish_reason") != "stop":
        refused = tree_at(choice, "message").get("refusal")
        stop = "refusal" if refused else _STOPS.get(text_at(choice, "finish_reason"), "end_turn")
    counts = tree_at(own, "usage")
    if not counts:  # here, what the cache holds is not part of the input
        cached = usage.cached_tokens
        read: Tree = {"cache_read_input_tokens": cached} if cached else {}
        prompt = max(usage.prompt_tokens - cached, 0)
        counts = {"input_tokens": prompt, "output_tokens": usage.completion_tokens, **read}
    return {
        "id": chat.get("id"),
        "type": "message",
        "role": "assistant",
        "model": chat.get("model"),
        "content": [],
        "stop_sequence": None,
        **{key: value for key, value in own.items() if key != "role" and value is not None},
        "stop_reason": stop,
        "usage": {"input_tokens": 0, "output_tokens": 0, **counts},
    }


def _message_opening_events(body: Tree) -> Iterator[Tree]:
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}


def _message_block_events(place: int, block: Tree) -> Iterator[Tree]:
    empty: Tree = _OF_BLOCKS.get(type_of(block), {"input": {}} if "input" in block else {})
    deltas = [{"type": f"{key}_delta", key: block[key]} for key in empty if key != "input" and block.get(key)]
    if "input" in empty:
        deltas.append({"type": "input_json_delta", "partial_json": canonical(block["input"])})
    deltas += [{"type": "citations_delta", "citation": each} for each in list_at(block, "citations")]
    begun = {key: value for key, value in {**block, **empty}.items() if key != "citations"}
    yield {"type": "content_block_start", "index": place, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": place, "delta": delta}
    yield {"type": "content_block_stop", "index": place}


def _message_closing_events(body: Tree) -> Iterator[Tree]:
    delta: Tree = {"stop_reason": body["stop_reason"], "stop_sequence": body["stop_sequence"]}
    yield {"type": "message_delta", "delta": delta, "usage": body["usage"]}
    yield {"type": "message_stop"}


# OpenAI's Responses: https://platform.openai.com/docs/api-reference/responses-streaming

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ECHOED: Mapping[str, Json] = {
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
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_OF_ITEMS: Mapping[str, Tree] = {
    "message": {"content": []},
    "reasoning": {"summary": [], "content": []},
    "function_call": {"arguments": ""},
}
"""What an item has when it begins, which comes in deltas."""
_PARTS = {"content": "response.content_part", "summary": "response.reasoning_summary_part"}
"""Where items have their texts, and the name of the events of one."""
_TEXTS = {
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "summary_text": "response.reasoning_summary_text",
}


def _output_item(kind: ContentKind, text: str) -> Tree:
    if kind == "thinking":
        return {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}
    part: Tree = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    part = {"type": kind, kind: text} if kind == "refusal" else part
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _with_item_id(item: Tree, response: str, place: int) -> Tree:
    kind = _PREFIXES.get(type_of(item), "item")
    return item if item.get("id") else {**item, "id": f"{kind}_{response}_{place}"}


def _response_without_output(chat: Tree, usage: Usage, own: Tree, request: Tree) -> Tree:
    reason = _INCOMPLETE.get(text_at(_first_chat_choice(chat), "finish_reason"))
    return {
        "id": chat.get("id"),
        "object": "response",
        "created_at": chat.get("created"),
        "error": None,
        "model": chat.get("model"),
        "store": False,
        **{key: value if request.get(key) is None else request[key] for key, value in _ECHOED.items()},
        "incomplete_details": {"reason": reason} if reason else None,
        **{key: value for key, value in own.items() if value is not None},
        "status": "incomplete" if reason else "completed",
        "usage": {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            **tree_at(own, "usage"),
        },
    }


def _response_opening_events(body: Tree) -> Iterator[Tree]:
    begun: Tree = {"status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    response = {**body, **begun}
    for kind in ("response.created", "response.in_progress"):
        yield {"type": kind, "response": response}


def _item_events(place: int, item: Tree) -> Iterator[Tree]:
    kind, at = type_of(item), {"output_index": place}
    named: Tree = {"item_id": item["id"], **at}
    empty = _OF_ITEMS.get(kind, {})
    begun = {**item, "status": "in_progress", **empty} if empty else item
    yield {"type": "response.output_item.added", **at, "item": begun}
    for key in _PARTS if empty else ():
        for number, part in enumerate(map(as_tree, list_at(item, key))):
            yield from _part_events(_PARTS[key], {**named, f"{key}_index": number}, part)
    if kind == "function_call":
        done: Tree = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.delta", **named, "delta": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **named, **done}
    yield {"type": "response.output_item.done", **at, "item": item}


def _part_events(of_part: str, where: Tree, part: Tree) -> Iterator[Tree]:
    name = _TEXTS.get(type_of(part), "response.output_text")
    key = "refusal" if type_of(part) == "refusal" else "text"
    text, logprobs = part.get(key, ""), as_tree({} if type_of(part) in _TEXTS else {"logprobs": []})
    yield {"type": f"{of_part}.added", **where, "part": {**part, key: ""}}
    yield {"type": f"{name}.delta", **where, "delta": text, **logprobs}
    yield {"type": f"{name}.done", **where, key: text, **logprobs}
    yield {"type": f"{of_part}.done", **where, "part": part}


def _response_closing_events(body: Tree) -> Iterator[Tree]:
    yield {"type": f"response.{body['status']}", "response": body}


REPLY_FORMS: Mapping[OtherForm, ReplyForm] = {
    "messages": ReplyForm(
        key="content",
        items=MESSAGES_ITEMS,
        own_blocks=typed_content_blocks,
        block=_message_block,
        with_id=lambda block, _reply, _place: block,
        head=_message_without_content,
        opening_events=_message_opening_events,
        block_events=_message_block_events,
        before_text=1,
        closing_events=_message_closing_events,
    ),
    "responses": ReplyForm(
        key="output",
        # Here, calls have their ids, and items all fields that clients expect.
        items=INPUT_ITEMS._replace(
            is_call=lambda item: type_of(as_tree(item)) == "function_call",
            text=lambda text: _output_item("text", text),
            call=lambda call, kept: {"status": "completed", **as_tree(INPUT_ITEMS.call(call, kept))},
        ),
        own_blocks=typed_output_items,
        block=_output_item,
        with_id=_with_item_id,
        head=_response_without_output,
        opening_events=_response_opening_events,
        block_events=_item_events,
        before_text=2,
        closing_events=_response_closing_events,
    ),
}
