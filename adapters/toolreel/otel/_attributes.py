"""Attributes of the spans, from what a run is and does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from toolreel._driver import Begun
from toolreel.otel._labels import Labels
from toolreel.otel._provider import Server, server_of
from toolreel_core._jsontext import Json, as_tree, parse, read
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, Note, ReplyRead, ReplyReceived, RequestLost, RunTool, SendRequest
from toolreel_core._replies import Served, Usage, as_chat, served_in, usage_in

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


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a reply."""

    served: Served = field(default_factory=Served)
    usage: Usage = field(default_factory=Usage)
    finish: str = ""
    error: str = ""
    """``error.type`` of the request; empty if it succeeded."""

    @classmethod
    def of(cls, effect: SendRequest, event: Event, notes: tuple[Note, ...]) -> Answer:
        """What an event and the notes about it tell."""
        body: Mapping[str, Json] = {}
        if isinstance(event, ReplyReceived):
            chat = as_chat(event.body, effect.request.form).body
            body = as_tree(read(chat).value_or("") if isinstance(chat, str) else chat)
        read_note = next((note for note in notes if isinstance(note, ReplyRead)), None)
        lost = next((note for note in notes if isinstance(note, RequestLost)), None)
        return cls(
            served_in(body),
            usage_in(body),
            read_note.finish if read_note else "",
            _error_of(event, read_note, lost),
        )

    @property
    def attributes(self) -> Attributes:
        """Those of the request's span."""
        usage, found = self.usage, Attributes()
        texts = {
            "gen_ai.response.id": self.served.request_id,
            "gen_ai.response.model": self.served.model,
            "error.type": self.error,
        }
        counts = {
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        }
        found |= {name: text for name, text in texts.items() if text}
        found |= {name: count for name, count in counts.items() if count}
        if self.finish and self.finish != "unknown":
            found["gen_ai.response.finish_reasons"] = (self.finish,)
        if usage.cost is not None:
            found["toolreel.cost"] = usage.cost
        return found


def _error_of(event: Event, reply: ReplyRead | None, lost: RequestLost | None) -> str:
    """``error.type``: a status, a kind of failure or the code of a problem; never a message."""
    if lost is not None:
        return lost.failure if lost.status is None else str(lost.status)
    if isinstance(event, ReplyReceived):
        return reply.problem if reply is not None else ""
    return "cancelled"


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
    server = server_of(performer, effect.endpoint)
    found: Attributes = {**served_by(effect, server), "toolreel.ref": effect.ref}
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


def served_by(effect: SendRequest, server: Server) -> Attributes:
    """Model and server of a request, which its metrics have too."""
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": server.provider(effect.request.form),
        "gen_ai.request.model": effect.request.model,
    }
    if server.address:
        found |= {"server.address": server.address, "server.port": server.port}
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
