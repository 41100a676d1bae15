"""Attributes of the spans, from what a run is and does, and where its requests go."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

from toolreel._driver import Begun
from toolreel._driver import server_of as address_of
from toolreel_core._jsontext import Json, as_tree, parse, read
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, Note, ReplyRead, ReplyReceived, RequestLost, RunTool, SendRequest
from toolreel_core._replies import as_chat, served_in, usage_in
from toolreel_core._settings import WireForm

# What an application says about its runs, for their spans: the agent's name, the conversation.


@dataclass(frozen=True, slots=True)
class Labels:
    """What the spans of a run say besides what the run itself knows."""

    agent: str = ""
    conversation: str = ""
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)


_NONE: Final = Labels()
LABELS: Final[ContextVar[Labels]] = ContextVar("toolreel_otel_labels", default=_NONE)


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
    before = LABELS.get()
    merged = {**before.attributes, **(attributes or {})}
    token = LABELS.set(Labels(agent or before.agent, conversation or before.conversation, merged))
    try:
        yield
    finally:
        LABELS.reset(token)


Value: TypeAlias = str | bool | int | float | tuple[str, ...]
Attributes: TypeAlias = dict[str, Value]

# Options of a request that the conventions know, in the three forms of requests.
_NUMBERS: Final = {
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
# that they do not list, under their own names.
_HOSTS: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\.openai\.azure\.com$|\.cognitiveservices\.azure\.com$", "azure.ai.openai"),
        (r"\.ai\.azure\.com$|\.inference\.azure\.com$", "azure.ai.inference"),
        (r"(^|\.)openai\.com$", "openai"),
        (r"(^|\.)anthropic\.com$", "anthropic"),
        (r"^bedrock.*\.amazonaws\.com$", "aws.bedrock"),
        (r"^generativelanguage\.googleapis\.com$", "gcp.gemini"),
        (r"aiplatform\.googleapis\.com$", "gcp.vertex_ai"),
        (r"(^|\.)cohere\.(com|ai)$", "cohere"),
        (r"(^|\.)deepseek\.com$", "deepseek"),
        (r"(^|\.)groq\.com$", "groq"),
        (r"\.ml\.cloud\.ibm\.com$", "ibm.watsonx.ai"),
        (r"(^|\.)mistral\.ai$", "mistral_ai"),
        (r"(^|\.)moonshot\.(ai|cn)$", "moonshot_ai"),
        (r"(^|\.)perplexity\.ai$", "perplexity"),
        (r"(^|\.)x\.ai$", "x_ai"),
        (r"(^|\.)openrouter\.ai$", "openrouter"),
        (r"(^|\.)together\.(ai|xyz)$", "together"),
        (r"(^|\.)fireworks\.ai$", "fireworks"),
        (r"(^|\.)cerebras\.ai$", "cerebras"),
    )
)
_BY_FORM: Final[dict[WireForm, str]] = {
    "chat_completions": "openai",
    "responses": "openai",
    "messages": "anthropic",
}
"""Of any other server we know only whose API it speaks, which is what the conventions ask for then."""


class Server(NamedTuple):
    """The server of a request; empty and 0 if its endpoint does not say."""

    address: str = ""
    port: int = 0

    def provider(self, form: WireForm) -> str:
        """The value of ``gen_ai.provider.name``."""
        found = (name for pattern, name in _HOSTS if pattern.search(self.address))
        return next(found, _BY_FORM[form])


def server_of(performer: object, fallback: str = "") -> Server:
    """The server that a performer sends requests to.

    :param fallback: the name of the plan's fallback; empty for its own endpoint
    """
    url = address_of(performer, fallback).url
    if not url:
        return Server()
    parts = urlsplit(url)
    return Server(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


def run_attributes(begun: Begun, labels: Labels) -> Attributes:
    """Those of the span of a run."""
    plan, server = begun.first.state.plan, server_of(begun.performer)
    named = {
        "gen_ai.agent.name": labels.agent,
        "gen_ai.conversation.id": labels.conversation or (begun.run if begun.durable else ""),
    }
    return {
        **labels.attributes,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": server.provider(plan.provider.wire_form),
        "gen_ai.request.model": plan.model,
        "toolreel.run": begun.run,
        **{name: text for name, text in named.items() if text},
    }


def request_attributes(effect: SendRequest, performer: object, labels: Labels) -> Attributes:
    """Those of the span of a request."""
    found: Attributes = {**served_by(effect, performer), "toolreel.ref": effect.ref}
    if effect.purpose != "turn":
        found["toolreel.purpose"] = effect.purpose
    if labels.conversation:
        found["gen_ai.conversation.id"] = labels.conversation
    if effect.request.streamed:
        found["gen_ai.request.stream"] = True
    options = cast("Mapping[str, Json]", parse(effect.request.options.text))
    for key, name in _NUMBERS.items():
        value = options.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = value
    if isinstance(stop := options.get("stop", options.get("stop_sequences")), str | list):
        found["gen_ai.request.stop_sequences"] = (stop,) if isinstance(stop, str) else tuple(map(str, stop))
    return found


def served_by(effect: SendRequest, performer: object) -> Attributes:
    """Model and server of a request, which its metrics have too."""
    server = server_of(performer, effect.endpoint)
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": server.provider(effect.request.form),
        "gen_ai.request.model": effect.request.model,
    }
    if server.address:
        found |= {"server.address": server.address, "server.port": server.port}
    return found


def reply_attributes(effect: SendRequest, event: Event, notes: tuple[Note, ...]) -> Attributes:
    """What an event and the notes about it tell of a reply; an error as a code, never as a message."""
    body: Mapping[str, Json] = {}
    if isinstance(event, ReplyReceived):
        chat = as_chat(event.body, effect.request.form).body
        body = as_tree(read(chat).value_or("") if isinstance(chat, str) else chat)
    reply = next((note for note in notes if isinstance(note, ReplyRead)), None)
    lost = next((note for note in notes if isinstance(note, RequestLost)), None)
    if lost is not None:
        error = lost.failure if lost.status is None else str(lost.status)
    elif isinstance(event, ReplyReceived):
        error = reply.problem if reply is not None else ""
    else:
        error = "cancelled"
    served, usage = served_in(body), usage_in(body)
    told: Attributes = {
        "gen_ai.response.id": served.request_id,
        "gen_ai.response.model": served.model,
        "error.type": error,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    found: Attributes = {name: value for name, value in told.items() if value}
    if reply is not None and reply.finish not in {"", "unknown"}:
        found["gen_ai.response.finish_reasons"] = (reply.finish,)
    if usage.cost is not None:
        found["toolreel.cost"] = usage.cost
    return found


def tool_attributes(effect: RunTool, plan: Plan) -> Attributes:
    """Those of the span of a tool call."""
    found: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": effect.name,
        "gen_ai.tool.call.id": effect.call_id,
        "gen_ai.tool.type": "function",
        "toolreel.turn": effect.turn,
        "toolreel.ref": effect.ref,
    }
    described = (tool.description for tool in plan.tools.definitions if tool.name == effect.name)
    if description := next(described, ""):
        found["gen_ai.tool.description"] = description
    return found


def tool_error(output: str) -> str:
    """``error.type`` of a tool call: the first code of its envelope; empty if it succeeded.

    >>> (
    ...     tool_error('{"ok":false,"errors":[{"code":"TOOL_TIMEOUT","message":"..."}]}'),
    ...     tool_error('{"ok":true}'),
    ... )
    ('TOOL_TIMEOUT', '')
    """
    match read(output).value_or(None):
        case {"ok": False, "errors": [{"code": str(code)}, *_]}:
            return code
        case {"ok": False}:
            return "tool_error"
        case _:
            return ""
