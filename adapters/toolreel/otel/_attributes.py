"""Attributes of the spans, from what a run is and does, and where its requests go."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, assert_never
from urllib.parse import urlsplit

from toolreel._driver import Begun, server_address_of_performer
from toolreel._internal import map_tree_texts
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
from toolreel_core._jsontext import Json, JsonText, as_tree, canonical, parse, read_json
from toolreel_core._plan import Plan
from toolreel_core._protocol import Note, RequestLost, RunTool, SendRequest
from toolreel_core._replies import Reply
from toolreel_core._settings import WireForm

AttributeValue: TypeAlias = str | bool | int | float | tuple[str, ...]
Attributes: TypeAlias = dict[str, AttributeValue]

AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
_NONE: Mapping[str, str | int | float | bool] = {}
LABELS: ContextVar[Mapping[str, str | int | float | bool]] = ContextVar("toolreel_otel_labels", default=_NONE)
"""What an application says about its runs, as attributes of their spans."""


@contextmanager
def labelled(
    agent: str = "",
    *,
    conversation: str = "",
    attributes: Mapping[str, str | int | float | bool] | None = None,
) -> Generator[None, None, None]:
    """Label the spans of the runs that begin in a ``with`` block.

    ::

        with labelled("stock clerk", conversation="c-17"):
            agent.run("How many pins are there?")

    :param agent: name of the agent (``gen_ai.agent.name``); spans of runs are named after it
    :param conversation: id of the conversation in your application (``gen_ai.conversation.id``)
    :param attributes: further attributes of the run's own span
    """
    names = {name: text for name, text in ((AGENT, agent), (CONVERSATION, conversation)) if text}
    token = LABELS.set({**LABELS.get(), **(attributes or {}), **names})
    try:
        yield
    finally:
        LABELS.reset(token)


def nonempty_attributes(attributes: Mapping[str, AttributeValue]) -> Attributes:
    return {name: value for name, value in attributes.items() if value}


# Options of a request that the conventions know, in the three forms of requests.
_NUMBERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
}


# Values of gen_ai.provider.name that the conventions list, by the host of the API; then routers and hosts
# that they do not list, under their own names. ``(^|\.)``: notopenai.com is not openai.com.
_HOSTS = {
    r"\.openai\.azure\.com$|\.cognitiveservices\.azure\.com$": "azure.ai.openai",
    r"\.ai\.azure\.com$|\.inference\.azure\.com$": "azure.ai.inference",
    r"(^|\.)openai\.com$": "openai",
    r"(^|\.)anthropic\.com$": "anthropic",
    r"^bedrock.*\.amazonaws\.com$": "aws.bedrock",
    r"^generativelanguage\.googleapis\.com$": "gcp.gemini",
    r"aiplatform\.googleapis\.com$": "gcp.vertex_ai",
    r"(^|\.)cohere\.(com|ai)$": "cohere",
    r"(^|\.)deepseek\.com$": "deepseek",
    r"(^|\.)groq\.com$": "groq",
    r"\.ml\.cloud\.ibm\.com$": "ibm.watsonx.ai",
    r"(^|\.)mistral\.ai$": "mistral_ai",
    r"(^|\.)moonshot\.(ai|cn)$": "moonshot_ai",
    r"(^|\.)perplexity\.ai$": "perplexity",
    r"(^|\.)x\.ai$": "x_ai",
    r"(^|\.)openrouter\.ai$": "openrouter",
    r"(^|\.)together\.(ai|xyz)$": "together",
    r"(^|\.)fireworks\.ai$": "fireworks",
    r"(^|\.)cerebras\.ai$": "cerebras",
}


def provider_of(address: str, form: WireForm) -> str:
    found = (name for pattern, name in _HOSTS.items() if re.search(pattern, address))
    # Of any other server we know only whose API it speaks, which is what the conventions ask for then.
    return next(found, "anthropic" if form == "messages" else "openai")


def server_host_and_port(performer: object, fallback: str = "") -> tuple[str, int]:
    """Address and port of the server that requests go to; empty and 0 if the performer does not say."""
    parts = urlsplit(server_address_of_performer(performer, fallback).url or "")
    if not parts.hostname:
        return "", 0
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def run_attributes(begun: Begun, labels: Mapping[str, str | int | float | bool]) -> Attributes:
    plan, (address, _) = begun.first.state.plan, server_host_and_port(begun.performer)
    return {
        **({CONVERSATION: begun.run} if begun.durable else {}),
        **labels,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider_of(address, plan.provider.wire_form),
        "gen_ai.request.model": plan.model,
        "toolreel.run": begun.run,
    }


def request_attributes(
    effect: SendRequest, performer: object, labels: Mapping[str, str | int | float | bool]
) -> Attributes:
    options = as_tree(parse(JsonText(effect.request.options.text)))
    stop = options.get("stop", options.get("stop_sequences"))
    stops = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    numbers: Attributes = {
        name: value
        for key, name in _NUMBERS.items()
        if isinstance(value := options.get(key), int | float) and not isinstance(value, bool)
    }
    further: Attributes = {
        "toolreel.purpose": "" if effect.purpose == "turn" else effect.purpose,
        CONVERSATION: labels.get(CONVERSATION, ""),
        "gen_ai.request.stream": effect.request.streamed,
        "gen_ai.request.stop_sequences": tuple(map(str, stops)),
    }
    return {
        **chat_request_attributes(effect, performer),
        "toolreel.ref": effect.ref,
        **numbers,
        **nonempty_attributes(further),
    }


def chat_request_attributes(effect: SendRequest, performer: object) -> Attributes:
    address, port = server_host_and_port(performer, effect.endpoint)
    return nonempty_attributes(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider_of(address, effect.request.form),
            "gen_ai.request.model": effect.request.model,
            "server.address": address,
            "server.port": port,
        }
    )


def reply_attributes(reply: Reply | None, notes: tuple[Note, ...]) -> Attributes:
    """What a reply tells, or the notes about a request without one; of an error only its code."""
    if reply is None:
        lost = next((note for note in notes if isinstance(note, RequestLost)), None)
        failure = "cancelled" if lost is None else lost.failure
        return {"error.type": str(lost.status) if lost and lost.status else failure}
    served, usage = reply.served, reply.usage
    found = nonempty_attributes(
        {
            "gen_ai.response.id": served.request_id,
            "gen_ai.response.model": served.model,
            "error.type": reply.problem.code if reply.problem else "",
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "gen_ai.response.finish_reasons": () if reply.finish == "unknown" else (reply.finish,),
        }
    )
    return found if usage.cost is None else {**found, "toolreel.cost": usage.cost}


def tool_attributes(effect: RunTool, plan: Plan) -> Attributes:
    described = (tool.description for tool in plan.tools.definitions if tool.name == effect.name)
    return nonempty_attributes(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": effect.name,
            "gen_ai.tool.call.id": effect.call_id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": next(described, ""),
            "toolreel.turn": effect.turn,
            "toolreel.ref": effect.ref,
        }
    )


# What was said, for those who ask for it: messages, arguments and results, without secrets.


CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that the instrumentations of OpenTelemetry read."""


def captures_content(asked: bool | None, environ: Mapping[str, str]) -> bool:
    """Whether spans have what was said: what the argument says, else the variable; by default not.

    >>> captures_content(None, {CONTENT_VARIABLE: "SPAN_ONLY"})
    True

    :raises ConfigError: if the variable has another value than these
    """
    if asked is not None:
        return asked
    value = environ.get(CONTENT_VARIABLE, "").strip().lower()
    if value not in {"", "false", "no_content", "true", "span_only"}:
        raise ConfigError(f"{CONTENT_VARIABLE}: expected NO_CONTENT or SPAN_ONLY, got {value!r}")
    return value in {"true", "span_only"}


def redacted_json_text(value: Json, sent: Mapping[str, str]) -> str:
    """The value as JSON text, with the kind of each secret in its place.

    Texts are searched one by one, since JSON escapes some characters of a secret.

    :param sent: the secrets that the run sends, by kind; those in the environment and what looks like one are
        redacted, too
    """
    known = {**known_secrets(os.environ), **sent}

    def clean(text: str) -> str:
        for kind, secret in [*secrets_in(text, known)]:
            text = text.replace(secret, f"[{kind}]")
        return text

    return canonical(map_tree_texts(value, clean))


def request_content_attributes(effect: SendRequest, plan: Plan) -> dict[str, Json]:
    messages: list[Json] = [_message_tree(message) for message in effect.request.sent.outgoing]
    content: dict[str, Json] = {"gen_ai.input.messages": messages}
    if plan.sends_tools:
        content["gen_ai.tool.definitions"] = [
            {"type": "function", "name": tool.name, "description": tool.description}
            for tool in plan.tools.definitions
            if tool.exposed
        ]
    return content


def reply_content_attributes(reply: Reply) -> dict[str, Json]:
    parts: list[Json] = [{"type": "reasoning", "content": reply.reasoning}] if reply.reasoning else []
    parts += [_text_part(reply.content)] if reply.content else []
    parts += [_call_part(call.id, call.name, call.original) for call in reply.calls]
    message: Json = {"role": "assistant", "parts": parts, "finish_reason": reply.finish}
    return {"gen_ai.output.messages": [message]}


def parsed_json(text: str) -> Json:
    """The value of a JSON text; the text itself if it is none."""
    return read_json(text).value_or(text)


def _message_tree(message: Message) -> Json:
    match message:
        case SystemMessage():
            return {"role": "system", "parts": [_text_part(message.content)]}
        case UserMessage():
            parts = [*map(_content_part, message.parts)] or [_text_part(message.content)]
            return {"role": "user", "parts": parts}
        case AssistantMessage():
            said = [_text_part(message.content)] if message.content else []
            calls = [_call_part(call.id, call.name, call.arguments) for call in message.calls]
            return {"role": "assistant", "parts": [*said, *calls]}
        case ToolMessage():
            answer: Json = {
                "type": "tool_call_response",
                "id": message.call_id,
                "response": parsed_json(message.content),
            }
            return {"role": "tool", "parts": [answer, *map(_content_part, message.parts)]}
        case _:
            assert_never(message)


def _text_part(content: str) -> Json:
    return {"type": "text", "content": content}


def _call_part(call_id: str, name: str, arguments: str) -> Json:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": parsed_json(arguments)}


def _content_part(part: Part) -> Json:
    """A part; of an image, audio or a file only the kind: its bytes are too large for a span."""
    if isinstance(part, Text):
        return _text_part(part.text)
    kinds = {Image: "image", Audio: "audio", File: "document"}
    return {"type": "omitted", "modality": kinds[type(part)]}
