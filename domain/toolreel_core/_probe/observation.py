"""What one exchange of a probe shows: an answer, a refusal, or nothing about the question.

The line between a refusal and a failure is what a probe stands on. A refusal is about the request, and
comes again. A failure is about the moment (too many requests, a gateway without its server), the key or the
address, and says nothing about a quirk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, list_at, parse, read_json, tree_at
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._replies import FIELDS, Reply, as_chat, normalize_reply
from toolreel_core._settings import LoopConfig, WireForm
from toolreel_core._text_calls import BARE, MARKED
from toolreel_core._tools import ToolDefinition, ToolSurface

_TOOLS: Any = parse(
    JsonText("""{
"lookup": ["Returns the value that is stored under a key.",
  {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}],
"ping": ["Tells whether the system is up. It takes no arguments.", {"type": "object", "properties": {}}],
"order": ["Orders an item.", {"type": "object", "properties": {
  "item": {"type": "string"}, "count": {"type": "integer"}, "price": {"type": "number"},
  "gift": {"type": "boolean"}, "labels": {"type": "array", "items": {"type": "string"}}},
  "required": ["item", "count", "price", "gift", "labels"]}]
}""")
)
PROBE_TOOLS = ToolSurface(tuple(ToolDefinition.of(name, *rest) for name, rest in _TOOLS.items()))
"""The tools that a probe offers, which each reply is read with."""

_READING = LoopConfig(text_dialects=(*MARKED, *BARE), dialects_in_reasoning=True)

Why: TypeAlias = Literal[
    "refused",
    "unreadable",
    "rate",
    "unavailable",
    "timeout",
    "broken",
    "too_large",
    "key",
    "payment",
    "connect",
    "silent",
]
"""Why there is no answer. ``refused``: the server refused the request, and would again; ``unreadable``: what
came is not a model's answer. What may pass: ``rate`` to ``too_large``. ``key`` and those behind it: no other
question would get an answer either."""
PASSING: frozenset[Why] = frozenset({"rate", "unavailable", "timeout", "broken", "too_large"})
STOPPING: frozenset[Why] = frozenset({"key", "payment", "connect", "silent"})
# 500 is missing, since llama.cpp rejects requests with it (ggml-org/llama.cpp#10920). Cloudflare answers with
# 520 to 524 for a server that does not, and Anthropic with 529 when it is overloaded.
_BY_STATUS: Mapping[int, Why] = {
    **dict.fromkeys((408, 425, 429), "rate"),
    **dict.fromkeys((502, 503, 504, 520, 521, 522, 523, 524, 529), "unavailable"),
    **dict.fromkeys((401, 407), "key"),
    402: "payment",
}


@dataclass(frozen=True, slots=True)
class ProbedReply:
    body: Tree
    """As chat completions have it, and as if it had not been streamed."""
    reply: Reply
    """Read with every dialect, also in the reasoning."""
    streamed: bool = False
    form: WireForm = "chat_completions"
    strays: bool = False
    """Whether it came as chat completions all the same."""
    carry: JsonText = NOTHING
    """What has to go back with it in another form than chat completions: a JSON object."""

    @property
    def choice(self) -> Tree:
        choices = list_at(self.body, "choices")
        return as_tree(choices[0]) if choices else {}

    @property
    def message(self) -> Tree:
        return tree_at(self.choice, "message")

    @property
    def message_to_send_back(self) -> Tree:
        """The message as it goes back unchanged, in the words of chat completions."""
        if self.form == "chat_completions":
            return self.message
        calls: list[Json] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.original}}
            for call in self.reply.calls
            if not call.from_text
        ]
        message: Tree = {"role": "assistant", "content": self.reply.content, "tool_calls": calls}
        return {**message, **as_tree(parse(self.carry))}

    @property
    def calls(self) -> tuple[Tree, ...]:
        return tuple(map(as_tree, list_at(self.message, "tool_calls")))

    @property
    def cut(self) -> bool:
        return self.reply.finish == "length"


@dataclass(frozen=True, slots=True)
class ProbeFailure:
    why: Why
    message: str
    retry_after_ms: int | None = None
    in_200: bool = False
    body: str = ""


Observation: TypeAlias = ProbedReply | ProbeFailure


def dialects_of_text_calls(reply: Reply) -> list[str]:
    """The dialects of the calls that a reply has as text."""
    return [call.provenance.removeprefix("text:") for call in reply.calls if call.from_text]


def dialects_in_cut_answer(answered: ProbedReply) -> list[str]:
    """The dialects of calls in the text of a reply, also where blanks behind them ran into the limit."""
    message: Tree = {key: answered.message.get(key) for key in ("role", "content")}
    body: Tree = {"choices": [{"message": message, "finish_reason": "stop"}]}
    return dialects_of_text_calls(normalize_reply(body, tools=PROBE_TOOLS, config=_READING))


def observe(event: ReplyReceived | RequestFailed, form: WireForm = "chat_completions") -> Observation:
    """What an event shows; never raises, whatever a server has sent."""
    return _observe_failure(event) if isinstance(event, RequestFailed) else _observe_reply(event.body, form)


def _observe_failure(event: RequestFailed) -> ProbeFailure:
    message, status = _one_line_excerpt(event.message), event.status or 0
    if event.failure != "status":
        return ProbeFailure(event.failure, message)
    if status < 400:
        return ProbeFailure("unreadable", f"{message}; this address points elsewhere")
    return ProbeFailure(_BY_STATUS.get(status, "refused"), message, event.retry_after_ms, body=event.body)


def _observe_reply(body: str, form: WireForm) -> Observation:
    chat = as_chat(body, form)
    reply = normalize_reply(chat.body, tools=PROBE_TOOLS, config=_READING)
    tree = as_tree(read_json(chat.body).value_or("") if isinstance(chat.body, str) else chat.body)
    problem = reply.problem
    code = problem.code if problem else ""
    detail = _one_line_excerpt(problem.detail) if problem else ""
    if code == "RATE_LIMITED":
        return ProbeFailure("rate", detail)
    if code == "PROVIDER_ERROR":
        passing = bool(problem and problem.passing)
        return ProbeFailure("unavailable" if passing else "refused", detail, in_200=True, body=body)
    if code in {"INVALID_BODY", "NO_CHOICES", "NO_MESSAGE"} or not tree:
        return ProbeFailure(
            "unreadable", f"not an answer of a model: {_one_line_excerpt(body) or 'an empty body'}"
        )
    strays = form != "chat_completions" and "choices" in as_tree(chat.own)
    return ProbedReply(tree, reply, body.lstrip().startswith(FIELDS), form, strays, chat.carry)


def _one_line_excerpt(text: str) -> str:
    return " ".join(text.split())[:300]
