"""What was said, for those who ask for it: messages, arguments and results, without secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, assert_never

from toolreel._secrets import known_secrets, secrets_in
from toolreel_core._conversation import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Part,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._plan import Plan
from toolreel_core._protocol import SendRequest
from toolreel_core._replies import Reply

VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that the instrumentations of OpenTelemetry read."""


def captures_content(asked: bool | None, environ: Mapping[str, str]) -> bool:
    """Whether spans have what was said: what the argument says, else the variable; by default not.

    >>> captures_content(None, {VARIABLE: "SPAN_ONLY"})
    True

    :raises ConfigError: if the variable has another value than these
    """
    if asked is not None:
        return asked
    value = environ.get(VARIABLE, "").strip().lower()
    if value not in {"", "false", "no_content", "true", "span_only"}:
        raise ConfigError(f"{VARIABLE}: expected NO_CONTENT or SPAN_ONLY, got {value!r}")
    return value in {"true", "span_only"}


def redacted(value: Json, sent: Mapping[str, str]) -> str:
    """The value as JSON text, with the kind of each secret in its place.

    Texts are searched one by one, since JSON escapes some characters of a secret.

    :param sent: the secrets that the run sends, by kind; those in the environment and what looks like one
        are redacted, too
    """
    known = {**known_secrets(os.environ), **sent}

    def clean(value: Json) -> Json:
        match value:
            case str():
                for kind, secret in [*secrets_in(value, known)]:
                    value = value.replace(secret, f"[{kind}]")
                return value
            case Mapping():
                return {str(clean(key)): clean(each) for key, each in value.items()}
            case list() | tuple():
                return [*map(clean, value)]
            case _:
                return value

    return canonical(clean(value))


def request_content(effect: SendRequest, plan: Plan) -> dict[str, Json]:
    """What a request says: its messages and tools, by the names of their attributes."""
    messages: Json = [_message(message) for message in effect.request.sent.outgoing]
    tools: Json = [
        {"type": "function", "name": tool.name, "description": tool.description}
        for tool in plan.tools.definitions
        if tool.exposed
    ]
    content = {"gen_ai.input.messages": messages}
    return {**content, "gen_ai.tool.definitions": tools} if plan.sends_tools else content


def reply_content(reply: Reply) -> dict[str, Json]:
    """What a reply says."""
    parts: list[Json] = [{"type": "reasoning", "content": reply.reasoning}] if reply.reasoning else []
    parts += [_text(reply.content)] if reply.content else []
    parts += [_call(call.id, call.name, call.original) for call in reply.calls]
    message: Json = {"role": "assistant", "parts": parts, "finish_reason": reply.finish}
    return {"gen_ai.output.messages": [message]}


def parsed(text: str) -> Json:
    """The value of a JSON text; the text itself if it is none."""
    return read(text).value_or(text)


def _message(message: Message) -> Json:
    match message:
        case SystemMessage():
            return {"role": "system", "parts": [_text(message.content)]}
        case UserMessage():
            parts = [*map(_part, message.parts)] or [_text(message.content)]
            return {"role": "user", "parts": parts}
        case AssistantMessage():
            said = [_text(message.content)] if message.content else []
            calls = [_call(call.id, call.name, call.arguments) for call in message.calls]
            return {"role": "assistant", "parts": [*said, *calls]}
        case ToolMessage():
            answer: Json = {
                "type": "tool_call_response",
                "id": message.call_id,
                "response": parsed(message.content),
            }
            return {"role": "tool", "parts": [answer, *map(_part, message.parts)]}
        case _:
            assert_never(message)


def _text(content: str) -> Json:
    return {"type": "text", "content": content}


def _call(call_id: str, name: str, arguments: str) -> Json:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": parsed(arguments)}


def _part(part: Part) -> Json:
    """A part; of an image, audio or a file only the kind: its bytes are too large for a span."""
    if isinstance(part, Text):
        return _text(part.text)
    kinds = {Image: "image", Audio: "audio", File: "document"}
    return {"type": "omitted", "modality": kinds[type(part)]}
