"""A server with a scripted model and the quirks of one provider, by profile: real HTTP on this machine.

The model does what it is told to in a few sentences; the server refuses and ignores what its profile says.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from tests.servers.chat_server import Answer, Seen, serving
from tests.servers.other_forms import asks_for_reasoning, chat_request, refusal_in, reply_in
from tests.wire_forms import events_of
from toolreel_core._settings import WireForm, wire_form_of_url

Tree: TypeAlias = dict[str, Any]
Handling: TypeAlias = Literal["honoured", "ignored", "refused"]

_WORD = re.compile(r"<[^<> ]+>|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Profile:
    """The quirks of a provider; by default it does everything, like a good server."""

    chat: bool = True
    responses: bool = False
    messages: bool = False
    tools: Handling = "honoured"
    dialect: Literal["", "json_fenced", "hermes_in_reasoning"] = ""
    """How calls are written as text, instead of structured ones."""
    required: Handling = "honoured"
    parallel_flag: Handling = "honoured"
    json_object: Handling = "honoured"
    json_schema: Handling = "honoured"
    format_beside_tools: Literal["calls", "held", "refused"] = "calls"
    max_tokens: Handling = "honoured"
    max_completion_tokens: Handling = "honoured"
    temperature_above: float = 2.0
    """Temperatures above are refused; any, if below 0."""
    systems: Literal["any", "one_first"] = "any"
    nine_letter_ids: bool = False
    kimi_ids: bool = False
    user_after_tool: bool = True
    contents_refused: Collection[str] = ()
    """Of ``""``, ``null``, ``absent`` and a space, those that are refused next to calls."""
    thinks: Literal["", "reasoning_content", "reasoning"] = ""
    reasoning_back: Literal["any", "tool_turns", "all", "refused"] = "any"
    signatures: Literal["", "extra_content", "reasoning_details"] = ""
    signature_required: bool = False
    result_name_required: bool = False
    keywords: bool = True
    refs: bool = True
    strict: bool = True
    stream_options: Handling = "honoured"
    images: Handling = "honoured"
    result_images: Handling = "refused"
    reads_control_tokens: bool = False
    cost: bool = False
    sealed: Handling = "refused"
    """Reasoning that only its server can read, which Responses and Messages can be asked for."""
    flip: str = ""
    """What is refused every second time it is asked: a field of the body."""
    status: int = 400


Asked: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A response of the server."""

    body: Tree | str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuirkyServer:
    """Where the server is, and what it was asked."""

    url: str
    seen: Sequence[Seen]
    asked: Sequence[Asked]
    """The bodies."""


@contextmanager
def provider(
    profile: Profile, before: Callable[[int, Asked], Said | bytes | None] | None = None
) -> Generator[QuirkyServer]:
    """Serve a profile on a free port until the block ends.

    :param before: may answer a request itself, by its number from 1; bytes are sent as they are
    """
    lock, asked, flips = threading.Lock(), list[Asked](), dict[str, int]()

    def answer(seen: Seen) -> Answer:
        body: Asked = json.loads(seen.body)
        with lock:
            asked.append(body)
            said = before(len(asked), body) if before else None
            said = said or answer_of(profile, seen.path, body, flips)
        if isinstance(said, bytes):
            return Answer(raw=said)
        text, kind = as_sent(profile, body, said)
        return Answer(text.encode(), said.status, {"content-type": kind, **said.headers})

    with serving(answering=answer) as server:
        yield QuirkyServer(f"{server.url}/v1", server.seen, asked)


def answer_of(profile: Profile, path: str, body: Asked, flips: dict[str, int]) -> Said:
    """What the server says to a request.

    :param flips: how often a field was asked for whose support changes
    """
    if profile.flip and profile.flip in body:
        flips[profile.flip] = flips.get(profile.flip, 0) + 1
        if flips[profile.flip] % 2 == 0:
            return _error(f"{profile.flip} is not available here", 400)
    form = wire_form_of_url(path)
    spoken = {"chat_completions": profile.chat, "responses": profile.responses, "messages": profile.messages}
    if not spoken[form]:
        return _error(f"no route for {path}", 404)
    if body["model"] != "scripted":
        return _error(f"the model {body['model']} does not exist", 404)
    sealed = profile.sealed == "honoured" and asks_for_reasoning(form, body)
    if why := refusal_in(form, body, reasons=profile.sealed != "refused"):
        return _error(why, profile.status)
    asked = chat_request(form, body)
    if why := _refusal(profile, asked):
        return _error(why, profile.status)
    return Said(reply_in(form, _completion(profile, asked), sealed=sealed))


def as_sent(profile: Profile, body: Asked, said: Said) -> tuple[str, str]:
    """The text of a response, and its content type."""
    if isinstance(said.body, str):
        return said.body, "text/html"
    if body.get("stream") is True and said.status == 200 and "choices" not in said.body:
        form: WireForm = "responses" if "output" in said.body else "messages"
        return "".join(events_of(form, said.body)), "text/event-stream"
    if body.get("stream") is True and said.status == 200:
        counts = profile.stream_options == "honoured" and "stream_options" in body
        return _as_stream(said.body, counts=counts), "text/event-stream"
    return json.dumps(said.body), "application/json"


def _error(message: str, status: int) -> Said:
    return Said({"error": {"message": message, "type": "invalid_request_error"}}, status)


def _refusal(profile: Profile, body: Asked) -> str:
    """Why a request is refused; empty if it is not."""
    if not isinstance(body["messages"], list):
        return "messages: expected a list"
    return next(filter(None, (*_of_options(profile, body), *_of_history(profile, body))), "")


def _of_options(profile: Profile, body: Asked) -> Generator[str]:
    for key, handling in (
        ("tools", profile.tools),
        ("parallel_tool_calls", profile.parallel_flag),
        ("max_tokens", profile.max_tokens),
        ("max_completion_tokens", profile.max_completion_tokens),
        ("stream_options", profile.stream_options),
    ):
        if key in body and handling == "refused":
            yield f"{key} is not supported"
    if body.get("temperature", -2) > profile.temperature_above:
        yield "temperature: this value is not allowed"
    forced = body.get("tool_choice") not in {None, "auto", "none"} if _hashable(body) else True
    if forced and profile.required == "refused":
        yield "Thinking mode does not support this tool_choice"
    match body.get("response_format"):
        case {"type": "json_object"} if profile.json_object == "refused":
            yield "response_format is not supported"
        case {"type": "json_schema"} if profile.json_schema == "refused":
            yield "This response_format type is unavailable now"
        case {"type": _} if "tools" in body and profile.format_beside_tools == "refused":
            yield "a response format can't be used with tools"
        case _:
            pass
    yield from _of_schemas(profile, body)


def _hashable(body: Asked) -> bool:
    return not isinstance(body.get("tool_choice"), dict)


def _of_schemas(profile: Profile, body: Asked) -> Generator[str]:
    text = json.dumps(body.get("tools", []))
    if "exclusiveMinimum" in text and not profile.keywords:
        yield "Unknown name exclusiveMinimum: cannot find field"
    if "$ref" in text and not profile.refs:
        yield "$ref is not supported"
    if '"strict"' in text and not profile.strict:
        yield "strict: extra inputs are not permitted"


def _of_history(profile: Profile, body: Asked) -> Generator[str]:
    messages: Sequence[Tree] = body["messages"]
    roles = [message["role"] for message in messages]
    if profile.systems == "one_first" and "system" in roles[1:]:
        yield "System message must be at the beginning."
    if not profile.user_after_tool and ("tool", "user") in pairwise(roles):
        yield "Unexpected role 'user' after role 'tool'"
    if profile.images == "refused" and any(_has_image(each) for each in messages if each["role"] == "user"):
        yield "image_url is not supported"
    if profile.result_images == "refused" and any(
        _has_image(each) for each in messages if each["role"] == "tool"
    ):
        yield "tool messages take text only"
    for message in messages:
        yield from _of_message(profile, message)


def _of_message(profile: Profile, message: Tree) -> Generator[str]:
    calls = message.get("tool_calls", [])
    if calls:
        content = message.get("content", "absent")
        named = {"": '""', None: "null", "absent": "absent", " ": "space"}.get(content, "text")
        if named in profile.contents_refused:
            yield f"content: invalid beside tool calls: {named}"
    if profile.nine_letter_ids:
        ids = [*(call["id"] for call in calls), *filter(None, [message.get("tool_call_id")])]
        if any(not re.fullmatch("[a-zA-Z0-9]{9}", each) for each in ids):
            yield "an id must be a-z, A-Z, 0-9, with a length of 9"
    if profile.signature_required and calls and not _signed(calls[0]):
        yield "Function call is missing a thought_signature"
    if profile.result_name_required and message["role"] == "tool" and not message.get("name"):
        yield "a tool message needs a name"
    if message["role"] == "assistant":
        yield from _of_reasoning(profile, message, calls)


def _of_reasoning(profile: Profile, message: Tree, calls: Sequence[Tree]) -> Generator[str]:
    given = message.get("reasoning_content") or message.get("reasoning")
    match profile.reasoning_back:
        case "tool_turns" if calls and not given:
            yield "The reasoning_content in the thinking mode must be passed back to the API."
        case "all" if not given:
            yield "reasoning_content is missing in an assistant message"
        case "refused" if given:
            yield "reasoning_content: extra inputs are not permitted"
        case _:
            pass


def _has_image(message: Tree) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == "image_url" for part in content)


def _signed(call: Tree) -> bool:
    return bool(call.get("extra_content", {}).get("google", {}).get("thought_signature"))


def _completion(profile: Profile, body: Asked) -> Tree:
    message, finish = _message(profile, body)
    tokens = len(str(message.get("content") or "")) // 3 + 1
    cap = _cap(profile, body)
    if cap is not None and tokens > cap:
        message, finish, tokens = {**message, "content": message["content"][: cap * 3]}, "length", cap
    usage: Tree = {"prompt_tokens": _tokens(profile, body), "completion_tokens": tokens}
    if profile.cost:
        usage["cost"] = 0.0001
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "gen-1",
        "object": "chat.completion",
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }


def _cap(profile: Profile, body: Asked) -> int | None:
    for key in ("max_tokens", "max_completion_tokens"):
        if key in body and getattr(profile, key) == "honoured":
            cap: int = body[key]
            return cap
    return None


def _tokens(profile: Profile, body: Asked) -> int:
    """A token for a word, six for what only looks like a control token, one for a real one."""
    words: list[str] = _WORD.findall(json.dumps(body["messages"]))
    real = [word for word in words if profile.reads_control_tokens and word == "<|im_end|>"]
    return len(words) + 5 * (sum(word.startswith("<") for word in words) - len(real))


def _constrained(profile: Profile, body: Asked) -> str:
    """The one call to which a schema of calls holds the reply; empty if there is none."""
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    if "anyOf" not in schema or profile.json_schema != "honoured":
        return ""
    if body["messages"][-1]["role"] == "tool":
        return '{"name": "final_answer", "arguments": {"answer": "42"}}'
    return '{"name": "lookup", "arguments": {"key": "alpha"}}'


def _message(profile: Profile, body: Asked) -> tuple[Tree, str]:
    if held := _constrained(profile, body):
        return {"role": "assistant", "content": held}, "stop"
    thought: Tree = {profile.thinks: "Let me see."} if profile.thinks else {}
    details = [{"type": "reasoning.encrypted", "format": "google-gemini-v1", "data": "c2ln"}]
    if profile.signatures == "reasoning_details":
        thought |= {"reasoning_details": details}
    calls = _calls(profile, body)
    if calls and profile.dialect:
        return _written(profile, calls[0]), "stop"
    if calls:
        return {"role": "assistant", "content": None, **thought, "tool_calls": calls}, "tool_calls"
    return {"role": "assistant", "content": _text(profile, body), **thought}, "stop"


def _written(profile: Profile, call: Tree) -> Tree:
    inner = f'{{"name": "{call["function"]["name"]}", "arguments": {call["function"]["arguments"]}}}'
    if profile.dialect == "json_fenced":
        return {"role": "assistant", "content": f"```json\n{inner}\n```"}
    return {
        "role": "assistant",
        "content": "",
        "reasoning_content": f"I look it up.\n<tool_call>{inner}</tool_call>",
    }


def _calls(profile: Profile, body: Asked) -> list[Tree]:
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    choice, last = body.get("tool_choice"), body["messages"][-1]
    held = "response_format" in body and profile.format_beside_tools == "held"
    if not names or choice == "none" or last["role"] != "user" or held or profile.tools == "ignored":
        return []
    text = last["content"] if isinstance(last["content"], str) else ""
    wanted: list[tuple[str, str]] = []
    if text.startswith("Call lookup twice"):
        wanted = [("lookup", '{"key":"alpha"}'), ("lookup", '{"key":"beta"}')]
        one = body.get("parallel_tool_calls") is False and profile.parallel_flag == "honoured"
        wanted = wanted[:1] if one else wanted
    elif text.startswith("Call the tool lookup"):
        wanted = [("lookup", '{"key":"alpha"}')]
    elif text.startswith("Call order"):
        wanted = [("order", '{"item":"lamp","count":3,"price":9.5,"gift":true,"labels":["red","small"]}')]
    elif text.startswith("Call the tool ping"):
        wanted = [("ping", "{}")]
    elif choice not in (None, "auto") and profile.required == "honoured":
        name = choice["function"]["name"] if isinstance(choice, dict) else names[0]
        wanted = [(name, '{"key":"hello"}' if name == "lookup" else "{}")]
    return [_call(profile, number, *each) for number, each in enumerate(wanted)]


def _call(profile: Profile, number: int, name: str, arguments: str) -> Tree:
    call_id = f"functions.{name}:{number}" if profile.kimi_ids else f"call_{number}bcdefghij"
    call_id = f"abcdefgh{number}" if profile.nine_letter_ids else call_id
    signed = profile.signatures == "extra_content" and number == 0
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}} if signed else {}
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **extra}


def _text(profile: Profile, body: Asked) -> str:
    last = body["messages"][-1]
    content = last["content"]
    if isinstance(content, list):
        handling = profile.images if last["role"] == "user" else profile.result_images
        return "Red." if handling == "honoured" else "I see no picture."
    match body.get("response_format"):
        case {"type": "json_object"} if profile.json_object == "honoured":
            return '{"greeting": "hello"}'
        case {"type": "json_schema"} if profile.json_schema == "honoured":
            return '{"verdict": "yes"}'
        case _:
            pass
    if content.startswith("Write the numbers"):
        return ", ".join(map(str, range(1, 61)))
    return "42" if last["role"] == "tool" else "ok"


def _as_stream(body: Tree, *, counts: bool) -> str:
    choice = body["choices"][0]
    delta = {**choice["message"]}
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(delta["tool_calls"])]
    frames: list[Tree] = [
        {**body, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None},
        {
            **body,
            "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}],
            "usage": None,
        },
        *([{**body, "choices": []}] if counts else []),
    ]
    return "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n"
