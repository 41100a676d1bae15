"""The suite in the other wire forms: OpenAI's Responses and Anthropic's Messages.

The provider stays the one of chat completions. A request in another form is read into a chat request, so
that the same rules refuse it and the same judge sees it, and the answer is said in the form. A shape whose
answer a form can't say has no meaning there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, get_args

from benchmarks.conformance.replies import Answer, first_answer
from benchmarks.conformance.shape import Ending, Shape

__all__ = ["FORMS", "Form", "has_meaning", "read_request", "said"]

Form: TypeAlias = Literal["responses", "messages"]
FORMS: tuple[Form, ...] = get_args(Form)

_STOP = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_SAYABLE = frozenset({"role", "content", "tool_calls", "reasoning_content"})
_FRAGMENT = frozenset({"index", "function", "arguments"})
_ENDINGS = frozenset(
    {
        "content_block_stop",
        "message_delta",
        "message_stop",
        "response.completed",
        "response.incomplete",
        "response.output_item.done",
    }
)
"""Events that a stream which was cut in the middle of an item has not come to."""


def has_meaning(shape: Shape, form: Form) -> bool:
    """Whether a server that speaks this form could send the shape."""
    ordinary = shape.ids == "any" and shape.back is None
    return (
        ordinary and said(first_answer(shape, stream=False), form, stream=shape.mode == "stream") is not None
    )


def read_request(body: Mapping[str, Any], form: Form) -> dict[str, object]:
    """A request in the form, as chat completions would have it."""
    items = body.get("input", ()) if form == "responses" else body.get("messages", ())
    said_first = body.get("instructions") if form == "responses" else body.get("system")
    messages: list[dict[str, Any]] = [{"role": "system", "content": said_first}] if said_first else []
    for item in items:
        for message in _of_item(item) if form == "responses" else _of_message(item):
            last = messages[-1] if messages else {}
            if message["role"] == last.get("role") == "assistant":  # one turn in several items
                last["content"] = (last.get("content") or "") + (message.get("content") or "") or None
                last["tool_calls"] = [*last.get("tool_calls", []), *message.get("tool_calls", [])]
            else:
                messages.append(message)
    for message in messages:
        if message.get("tool_calls") == []:
            del message["tool_calls"]
    return {"messages": messages, "tools": [_tool(tool) for tool in body.get("tools", ())]}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.get("name")}}


def _of_item(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match item.get("type", "message"):
        case "function_call":
            yield _calling(item.get("call_id"), item.get("name"), item.get("arguments"))
        case "function_call_output":
            yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": _text(item.get("output"))}
        case "message":
            yield {"role": item.get("role"), "content": _text(item.get("content"))}
        case _:  # reasoning, and what the server's own tools did
            return


def _of_message(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role, content = message.get("role"), message.get("content")
    if isinstance(content, str):
        yield {"role": role, "content": content}
        return
    for block in content or ():
        match block.get("type"):
            case "text":
                yield {"role": role, "content": block.get("text")}
            case "tool_use":
                yield _calling(block.get("id"), block.get("name"), json.dumps(block.get("input")))
            case "tool_result":
                text = _text(block.get("content"))
                yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text}
            case _:  # thinking
                continue


def _calling(identity: object, name: object, arguments: object) -> dict[str, Any]:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _text(content: object) -> str | None:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content if isinstance(content, str) else None


def said(answer: Answer, form: Form, *, stream: bool) -> Answer | None:
    """An answer of chat completions in the form; ``None`` if it can't say that."""
    if answer.content_type == "text/event-stream":
        tree = _assembled(answer)
    else:
        text = b"".join(part for part in answer.parts if isinstance(part, bytes))
        try:
            tree = json.loads(text)
        except ValueError:
            return answer  # HTML, half a body or nothing: what stands before a server sends them to all
        if isinstance(tree, dict) and tree.get("error") and "choices" not in tree:
            return answer  # gateways have one way to report errors
    if not isinstance(tree, dict) or (body := _body(tree, form)) is None:
        return None
    if not stream:
        return Answer((json.dumps(body).encode(),), answer.status)
    events = list(_events_of_message(body) if form == "messages" else _events_of_response(body))
    while tree.get("cut") and events[-1]["type"] in _ENDINGS:
        events.pop()
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    ending: Ending = "drop" if answer.ending == "drop" else "clean"
    return Answer(tuple(lines), answer.status, "text/event-stream", ending)


def _assembled(answer: Answer) -> dict[str, Any] | None:
    """The completion that ordinary deltas make; ``None`` if one of them is not ordinary."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: list[dict[str, Any]] = []
    finish = None
    for part in answer.parts:
        text = part.decode("utf-8", "replace") if isinstance(part, bytes) else ""
        if text == "data: [DONE]\n\n":
            continue
        try:
            choices = json.loads(text.removeprefix("data: "))["choices"]
            if not choices:  # the usage
                continue
            (choice,) = choices
            delta = choice["delta"]
            finish = finish or choice["finish_reason"]
            if not delta.keys() <= _SAYABLE:
                return None
            for key in ("content", "reasoning_content"):
                if delta.get(key) is not None:
                    message[key] = (message.get(key) or "") + delta[key]
            for entry in delta.get("tool_calls") or ():
                _add(calls, entry)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
    if calls:
        message["tool_calls"] = calls
    cut = answer.ending != "done" and finish is None
    return {"choices": [{"message": message, "finish_reason": "stop" if cut else finish}], "cut": cut}


def _add(calls: list[dict[str, Any]], entry: Mapping[str, Any]) -> None:
    """A fragment of a call, as documented: the first with id and name, all with their index."""
    function = entry["function"]
    if entry["index"] == len(calls):
        whole = {"name": function["name"], "arguments": function.get("arguments", "")}
        calls.append({"id": entry["id"], "type": entry["type"], "function": whole})
    elif entry["index"] == len(calls) - 1 and entry.keys() | function.keys() <= _FRAGMENT:
        calls[-1]["function"]["arguments"] += function["arguments"]
    else:
        raise ValueError("not as documented")


def _body(tree: Mapping[str, Any], form: Form) -> dict[str, Any] | None:
    if not tree.keys() <= {"id", "object", "created", "model", "choices", "usage", "cut"}:
        return None
    match tree.get("choices"):
        case [{"message": {"role": "assistant", **message}, "finish_reason": str() as finish, **further}]:
            content, calls = message.get("content"), message.get("tool_calls") or []
            plain = message.keys() <= _SAYABLE and further.keys() <= {"index"} and finish in _STOP
            if not plain or not isinstance(content, str | None) or not isinstance(calls, list):
                return None
            if not all(map(_is_call, calls)):
                return None
            said_in = _message if form == "messages" else _response
            return said_in(message.get("reasoning_content"), content, calls, finish)
        case _:
            return None


def _is_call(call: object) -> bool:
    match call:
        case {
            "id": str(),
            "type": "function",
            "function": {"name": str(), "arguments": str(), **inside},
            **further,
        }:
            return not inside and not further
        case _:
            return False


def _message(thought: object, text: str | None, calls: list[Any], finish: str) -> dict[str, Any] | None:
    blocks: list[Any] = [{"type": "thinking", "thinking": thought, "signature": "c2ln"}] if thought else []
    blocks += [{"type": "text", "text": text}] if text else []
    for call in calls:
        try:
            given = json.loads(call["function"]["arguments"], parse_constant=_no_json)
        except (ValueError, RecursionError):
            return None  # the input is a value here, so it can't be cut or malformed
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": given}
        )
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model"}
    usage = {"input_tokens": 41, "output_tokens": 17}
    return {**head, "content": blocks, "stop_reason": _STOP[finish], "usage": usage}


def _no_json(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _response(thought: object, text: str | None, calls: list[Any], finish: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": thought}]
    items: list[Any] = [{"type": "reasoning", "id": "rs_1", "summary": summary}] if thought else []
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    items += [{"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}] if text else []
    for number, call in enumerate(calls):
        made = {"type": "function_call", "id": f"fc_{number}", "call_id": call["id"], **call["function"]}
        items.append(made)
    why = _INCOMPLETE.get(finish)
    details = {"incomplete_details": {"reason": why}} if why else {}
    usage = {"input_tokens": 41, "output_tokens": 17, "total_tokens": 58}
    head = {"id": "resp_1", "object": "response", "created_at": 1764000000, "model": "test-model"}
    return {
        **head,
        "status": "incomplete" if why else "completed",
        "output": items,
        "usage": usage,
        **details,
    }


def _events_of_message(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
    for index, block in enumerate(body["content"]):
        at = {"index": index}
        empty, deltas = _deltas_of_block(block)
        yield {"type": "content_block_start", **at, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    yield {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": body["usage"]}
    yield {"type": "message_stop"}


def _deltas_of_block(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            pieces = [{"type": "text_delta", "text": piece} for piece in _halves(block["text"])]
            return {"type": "text", "text": ""}, pieces
        case "thinking":
            pieces = [{"type": "thinking_delta", "thinking": piece} for piece in _halves(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*pieces, signed]
        case _:
            text = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in _halves(text)]
            return {**block, "input": {}}, pieces


def _events_of_response(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}
    for place, item in enumerate(body["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        match item["type"]:
            case "message":
                yield {"type": "response.output_item.added", **at, "item": {**item, "content": []}}
                for piece in _halves(item["content"][0]["text"]):
                    yield {"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece}
            case "reasoning":
                yield {"type": "response.output_item.added", **at, "item": {**item, "summary": []}}
                for piece in _halves(item["summary"][0]["text"]):
                    told = {"summary_index": 0, "delta": piece}
                    yield {"type": "response.reasoning_summary_text.delta", **at, **told}
            case _:
                yield {"type": "response.output_item.added", **at, "item": {**item, "arguments": ""}}
                for piece in _halves(item["arguments"]):
                    yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{body['status']}", "response": {**body}}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
