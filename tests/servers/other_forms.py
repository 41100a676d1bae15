"""How the quirky provider reads and writes Responses and Messages: by their documentation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tests.wire_forms import said_in
from toolreel_core._settings import WireForm

Tree: TypeAlias = dict[str, Any]
Asked: TypeAlias = Mapping[str, Any]

_ITEM: Final = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
_BLOCK: Final = {"type": "thinking", "thinking": "I look it up.", "signature": "c2lnbmVk"}
_KEYS: Final[Mapping[WireForm, frozenset[str]]] = {
    "responses": frozenset({
        "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "temperature",
        "max_output_tokens", "store", "stream", "text", "include",
    }),
    "messages": frozenset({
        "model", "messages", "system", "tools", "tool_choice", "temperature", "max_tokens", "stream",
        "output_config", "thinking",
    }),
}  # fmt: skip


def asks_for_reasoning(form: WireForm, body: Asked) -> bool:
    """Whether a request asks for reasoning that only the server can read."""
    return (form == "responses" and "include" in body) or (form == "messages" and "thinking" in body)


def refusal_in(form: WireForm, body: Asked, *, reasons: bool) -> str:
    """Why a request is none of its form; empty if it is one, or chat completions."""
    if form == "chat_completions":
        return ""
    if unknown := sorted(body.keys() - _KEYS[form]):
        return f"{unknown[0]}: extra inputs are not permitted"
    if form == "messages" and "max_tokens" not in body:
        return "max_tokens: field required"
    if asks_for_reasoning(form, body) and not reasons:
        return "this model does not reason"
    key = "input" if form == "responses" else "messages"
    return "" if isinstance(body[key], list) else f"{key}: expected a list"


def reply_in(form: WireForm, completion: Tree, *, sealed: bool) -> Tree:
    """The reply of the scripted model in a form."""
    if form == "chat_completions":
        return completion
    said: Tree = json.loads(said_in(form, json.dumps(_plain(completion))))
    key, first = ("output", _ITEM) if form == "responses" else ("content", _BLOCK)
    return {**said, key: [first, *said[key]]} if sealed else said


def _plain(completion: Tree) -> Tree:
    """A completion without what only chat completions say."""
    [choice] = completion["choices"]
    message = {key: choice["message"].get(key) for key in ("role", "content", "tool_calls")}
    kept = {key: value for key, value in message.items() if value is not None}
    return {**completion, "choices": [{**choice, "message": kept}]}


def chat_request(form: WireForm, body: Asked) -> Tree:
    """What a request says, in the words of chat completions."""
    match form:
        case "chat_completions":
            return {**body}
        case "responses":
            return _from_responses(body)
        case "messages":
            return _from_messages(body)


def _from_responses(body: Asked) -> Tree:
    same = ("model", "temperature", "parallel_tool_calls", "stream")
    chat = {key: body[key] for key in same if key in body}
    chat["messages"] = [one for item in body["input"] for one in _of_item(item)]
    if "max_output_tokens" in body:
        chat["max_tokens"] = body["max_output_tokens"]
    if "tools" in body:
        chat["tools"] = [_function({**tool, "strict": tool["strict"] or None}) for tool in body["tools"]]
    if "tool_choice" in body:
        choice = body["tool_choice"]
        chat["tool_choice"] = choice if isinstance(choice, str) else _named(choice["name"])
    if "text" in body:
        given = body["text"]["format"]
        rest = {key: value for key, value in given.items() if key != "type"}
        chat["response_format"] = {"type": given["type"], **({given["type"]: rest} if rest else {})}
    return chat


def _of_item(item: Tree) -> list[Tree]:
    match item:
        case {"type": "function_call"}:
            return [_called(item["call_id"], item["name"], item["arguments"])]
        case {"type": "function_call_output"}:
            return [{"role": "tool", "tool_call_id": item["call_id"], "content": _content(item["output"])}]
        case {"type": "reasoning"}:
            return []
        case _:
            return [{"role": item["role"], "content": _content(item["content"])}]


def _from_messages(body: Asked) -> Tree:
    chat = {key: body[key] for key in ("model", "temperature", "max_tokens", "stream") if key in body}
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    chat["messages"] = system + [one for each in body["messages"] for one in _of_message(each)]
    if "tools" in body:
        chat["tools"] = [_function({**tool, "parameters": tool["input_schema"]}) for tool in body["tools"]]
    choice = body.get("tool_choice", {})
    if choice.get("type") == "tool":
        chat["tool_choice"] = _named(choice["name"])
    elif choice:
        chat["tool_choice"] = {"any": "required"}.get(choice["type"], choice["type"])
    if choice.get("disable_parallel_tool_use"):
        chat["parallel_tool_calls"] = False
    if "output_config" in body:
        schema = body["output_config"]["format"]["schema"]
        chat["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    return chat


def _of_message(message: Tree) -> list[Tree]:
    content = message["content"]
    if isinstance(content, str):
        return [message]
    calls = [block for block in content if block["type"] == "tool_use"]
    results = [block for block in content if block["type"] == "tool_result"]
    if calls:
        return [_called(each["id"], each["name"], json.dumps(each["input"])) for each in calls]
    if results:
        return [
            {"role": "tool", "tool_call_id": each["tool_use_id"], "content": _content(each["content"])}
            for each in results
        ]
    return [{"role": message["role"], "content": _content(content)}]


def _called(call_id: str, name: str, arguments: str) -> Tree:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def _content(content: Any) -> Any:  # noqa: ANN401 - a text, or a list of parts
    if isinstance(content, str):
        return content
    parts = [_part(part) for part in content]
    only_text = all(part["type"] == "text" for part in parts)
    return "".join(part["text"] for part in parts) if only_text else parts


def _part(part: Tree) -> Tree:
    if part["type"] in {"input_image", "image"}:
        return {"type": "image_url", "image_url": {"url": ""}}
    return {"type": "text", "text": part["text"]}


def _function(tool: Tree) -> Tree:
    keys = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {key: tool[key] for key in keys if tool.get(key) is not None}}


def _named(name: str) -> Tree:
    return {"type": "function", "function": {"name": name}}
