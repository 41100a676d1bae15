"""How the quirky provider reads and writes Responses and Messages: by their documentation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.wire_forms import said_in
from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._settings import WireForm

Tree: TypeAlias = dict[str, Any]
Asked: TypeAlias = Mapping[str, Any]

_ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
_BLOCK = {"type": "thinking", "thinking": "I look it up.", "signature": "c2lnbmVk"}
_KEYS: Mapping[WireForm, frozenset[str]] = {
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
    if form == "chat_completions":
        return {**body}
    read = client_request(json.dumps(body), form)
    assert isinstance(read, ClientRequest), read.message
    return dict(read.tree)
