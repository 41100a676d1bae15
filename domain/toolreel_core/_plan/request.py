"""Requests: their messages and options, in the form that the server takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from toolreel_core._conversation import Transcript, UserMessage
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chained_digest,
    chained_part_digest,
    digest,
    merged,
    parse,
    quote,
    tree_at,
)
from toolreel_core._plan.output import call_constraint
from toolreel_core._settings import LoopConfig, Provider, WireForm

# The options of a request, in the form that the server takes.
#
# Plans say them as chat completions do. What a form has no word for is not sent, and noted; keys that chat
# completions do not know go out as they are.


MAX_TOKENS = 8_192
"""Output limit of a request in the form of Messages whose plan has none: there, one is required."""

_CHAT_ONLY = frozenset({
    "frequency_penalty", "logit_bias", "logprobs", "n", "prediction", "presence_penalty", "seed",
    "stream_options", "top_logprobs",
})  # fmt: skip
"""Options of chat completions that neither of the other forms has."""
_NOT_IN: Mapping[WireForm, frozenset[str]] = {
    "chat_completions": frozenset(),
    "messages": _CHAT_ONLY | {"modalities", "store", "verbosity"},
    "responses": _CHAT_ONLY | {"stop"},
}


def options_for_form(form: WireForm, options: Tree) -> Tree:
    """Options of chat completions, as another form says them."""
    said = translate_options(form, options)
    if form == "messages":
        # One call a turn is said of a choice, so there has to be one.
        choice: Tree = {"tool_choice": {"type": "auto"}} if "tool_choice" in said else {}
        return merged({"max_tokens": MAX_TOKENS, **choice}, said)
    # Nothing that the server remembers decides what a run does, so a recording has all of it.
    return {"store": False, **said} if form == "responses" else said


def translate_options(form: WireForm, options: Tree) -> Tree:
    """The same without what a form needs besides."""
    if form == "chat_completions":
        return options
    translate = _option_in_messages_form if form == "messages" else _option_in_responses_form
    said: Tree = {}
    for key, value in options.items():
        if key not in _NOT_IN[form]:
            said = merged(said, translate(key, value))
    return said


def _option_in_messages_form(key: str, value: Json) -> Tree:
    """An option in the form of Messages (https://docs.anthropic.com/en/api/messages)."""
    match key:
        case "tools":
            entries: list[Json] = []
            for entry, function in _tool_entries_and_functions(value):
                words = [word for word in ("name", "description", "strict") if word in function]
                schema = function.get("parameters", {"type": "object"})
                named: Tree = {**{word: function[word] for word in words}, "input_schema": schema}
                entries.append(named if function else entry)
            return {"tools": entries}
        case "tool_choice":
            if name := _tool_name_in_choice(value):
                return {"tool_choice": {"type": "tool", "name": name}}
            kind = {"required": "any", "auto": "auto", "none": "none"}.get(str(value))
            return {"tool_choice": {"type": kind}} if kind else {}
        case "parallel_tool_calls":
            return {} if value is not False else {"tool_choice": {"disable_parallel_tool_use": True}}
        case "max_completion_tokens":
            return {"max_tokens": value}
        case "stop":
            return {"stop_sequences": _as_sequence(value)}
        case "user":
            return {"metadata": {"user_id": value}}
        case "reasoning_effort":
            return {"output_config": {"effort": value}}
        case "response_format":
            asked = tree_at(as_tree(value), "json_schema").get("schema")
            return {"output_config": {"format": {"type": "json_schema", "schema": asked}}} if asked else {}
        case _:
            return {key: value}


def _option_in_responses_form(key: str, value: Json) -> Tree:
    """An option in the form of Responses (https://platform.openai.com/docs/api-reference/responses/create)."""
    match key:
        case "tools":
            # Without `strict`, OpenAI rewrites the schemas so that every property is required.
            lax: Tree = {"type": "function", "strict": False}
            pairs = _tool_entries_and_functions(value)
            return {"tools": [{**lax, **function} if function else entry for entry, function in pairs]}
        case "tool_choice":
            name = _tool_name_in_choice(value)
            return {"tool_choice": {"type": "function", "name": name} if name else value}
        case "max_tokens" | "max_completion_tokens":
            return {"max_output_tokens": value}
        case "reasoning_effort":
            return {"reasoning": {"effort": value}}
        case "verbosity":
            return {"text": {"verbosity": value}}
        case "response_format":
            asked = as_tree(value)
            inner = {word: part for word, part in asked.items() if word != "json_schema"}
            return {"text": {"format": {**inner, **tree_at(asked, "json_schema")}}}
        case _:
            return {key: value}


def _as_sequence(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _tool_entries_and_functions(tools: Json) -> Iterator[tuple[Tree, Tree]]:
    """Each entry of ``tools``, with its function; empty where it is a tool of the server's own."""
    for entry in _as_sequence(tools):
        yield as_tree(entry), tree_at(as_tree(entry), "function")


def _tool_name_in_choice(choice: Json) -> Json:
    return tree_at(as_tree(choice), "function").get("name")


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Everything of a body but model and messages; the same in every turn, so it is encoded once a run."""

    text: JsonText
    digest: str = field(init=False, repr=False, compare=False)
    streamed: bool = field(init=False, repr=False, compare=False)
    """Whether the reply is asked for in pieces."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest(self.text))
        object.__setattr__(self, "streamed", as_tree(parse(self.text)).get("stream") is True)

    @property
    def output_cap(self) -> int | None:
        """Tokens after which the reply is truncated, if the options say so."""
        return _output_cap(as_tree(parse(self.text)))


def _output_cap(options: Tree) -> int | None:
    # llama.cpp and LM Studio read -1 as: no limit.
    return next((cap for cap in map(options.get, OUTPUT_CAPS) if type(cap) is int and cap > 0), None)


@dataclass(frozen=True, slots=True)
class Request:
    """The body of one request to an endpoint, in the form of its provider."""

    model: str
    messages: Transcript
    """Complete: a call in it that has no result gets one that says so."""
    options: RequestOptions
    reminder: str = ""
    """A message of the user behind the others, which no history stores; see ``LoopConfig.restate_task``."""
    sent: Transcript = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        complete = self.messages.complete()
        object.__setattr__(self, "messages", complete)
        sent = complete.with_reminder(UserMessage(self.reminder)) if self.reminder else complete
        object.__setattr__(self, "sent", sent)

    @property
    def form(self) -> WireForm:
        return self.messages.form.provider.wire_form

    @property
    def body(self) -> str:
        return b"".join(self.pieces()).decode()

    def pieces(self) -> tuple[bytes, ...]:
        """The body in UTF-8, in pieces; those that are full are shared with the requests before it."""
        # Of a body of megabytes, a request adds the last few kilobytes; see ``Rope``.
        rest = self.options.text[1:]
        comma = "" if rest == "}" else ","
        system = f'"system":{self.sent.system.decode()},' if self.sent.system else ""
        key = "input" if self.form == "responses" else "messages"
        head, foot = f'{{"model":{quote(self.model)},{system}"{key}":[', f"]{comma}{rest}"
        return head.encode(), *self.sent.texts.pieces(), foot.encode()

    @property
    def streamed(self) -> bool:
        return self.options.streamed

    @property
    def digest(self) -> str:
        """A SHA-256 chain over the digests of the parts; its cost does not grow with the history."""
        before_options = chained_part_digest(chained_digest("", self.model), digest(self.sent.chain))
        return chained_part_digest(before_options, digest(self.options.digest))


def pin_to_upstream(options: RequestOptions, upstream: str) -> RequestOptions:
    """The options with OpenRouter's ``provider.order``, which pins requests to one upstream provider."""
    routing: Tree = {"provider": {"order": [upstream], "allow_fallbacks": False}}
    return RequestOptions(canonical(merged(as_tree(parse(options.text)), routing)))


IgnoredWhy: TypeAlias = Literal["reserved", "with_tools", "without_tools", "unsupported"]
"""``reserved``: not an override's to set; ``with_tools``: providers refuse it together with tools, so it goes
out only with requests that send none; ``without_tools``: they refuse it without, and the run has none;
``unsupported``: the provider does not take it."""

_TOOL_OPTIONS = ("tool_choice", "parallel_tool_calls")
"""Options that providers refuse in a request without tools."""
_RESERVED = frozenset({"model", "messages", "tools", "tool_choice", "response_format", "stream"})
"""Keys of a body that the plan or the loop decides, so overrides may not set them."""
_RESERVED_IN: Mapping[WireForm, frozenset[str]] = {
    "chat_completions": _RESERVED,
    "responses": _RESERVED | {"input"},
    "messages": _RESERVED | {"system"},
}
"""The same in each form; a key that stands twice in a body would mean the later one."""
_CHAT_CAPS = ("max_completion_tokens", "max_tokens")
OUTPUT_CAPS = (*_CHAT_CAPS, "max_output_tokens")
"""The output limit, as each wire form names it."""


class Ignored(NamedTuple):
    key: str
    why: IgnoredWhy


class OutputParts(NamedTuple):
    """What requests have because of the plan's output."""

    final: Json = None
    """The final tool as an entry of ``tools``, if there is one."""
    is_optional: bool = False
    """Whether an answer may be a text too, so that a request without tools does not need the final tool."""
    response_format: Json = None
    held_to: tuple[Tree, ...] | None = None
    """The tools that the reply to a request with tools has to call, if not the final tool; ``None`` if the
    reply is free."""


_NO_OUTPUT = OutputParts()


class Bodies(NamedTuple):
    """What follows the messages in the requests of a run."""

    with_tools: RequestOptions
    requiring: RequestOptions
    """The same, with the demand that the model calls a tool."""
    unconstrained: RequestOptions
    """For a request with tools whose reply is free, although the settings constrain decoding."""
    without_tools: RequestOptions
    """For a request that lets the model call no tools; but the final tool, if the plan has one."""
    dropped: RequestOptions
    """For a request after the server rejected tools."""
    one_call: bool
    """Whether a request with tools says ``parallel_tool_calls: false``, in the words of its form."""
    output_cap: int | None
    """Tokens after which the request has a reply cut, where it says so with a number above 0."""
    quirks: tuple[str, ...]
    """Names of the provider's settings that changed something."""
    ignored: tuple[Ignored, ...]


def build_request_bodies(
    options: Tree,
    overrides: Tree,
    tools: tuple[Json, ...],
    provider: Provider,
    config: LoopConfig,
    output: OutputParts = _NO_OUTPUT,
) -> Bodies:
    """The bodies of a run.

    :param tools: the entries of the ``tools`` array as they go out
    """
    final, is_optional, response_format, held_to = output
    reserved = reserved_override_keys(overrides, provider.wire_form)
    requested = merged(options, _without_keys(overrides, *reserved))
    accepted, quirks = accepted_options(requested, provider)
    native: Tree = {"response_format": response_format} if response_format else {}
    calling: Tree = {**_without_keys(accepted, "response_format"), **native}
    answering: Tree = {**_without_keys(accepted, *_TOOL_OPTIONS), **native}
    streamed: Tree = {"stream": True}
    if provider.supports_stream_options != "no":
        streamed = {**streamed, "stream_options": {"include_usage": True}}
    plain = answering if config.stream == "never" else merged(streamed, answering)
    if config.stream == "always":
        calling, answering = merged(streamed, calling), plain
    # In a run with a final tool, each reply is a call: of a tool, or of this one.
    demanded: Tree = {"tool_choice": "required"} if provider.requires_calls() else {}
    without_tools = plain
    if final is not None:
        early = is_optional and config.tool_use_mode != "enforced"
        tools = (final, *tools) if early else (*tools, final)
        calling = {**demanded, **calling}
        if not is_optional:
            without_tools = {"tools": (final,), **demanded, **answering}
    free: Tree = {"tools": tools, **calling} if tools else without_tools
    offered = free
    with_tools, requiring = free, {**free, "tool_choice": "required"} if tools else free
    if held_to is not None:
        # A choice of tools would bring a grammar of the server's own.
        free = _without_keys(free, "tool_choice")
        with_tools = {**free, **call_constraint((*held_to, final))}
        requiring = {**free, **call_constraint(held_to)}
    unfit: IgnoredWhy = "with_tools" if tools else "without_tools"

    def encoded(tree: Tree) -> RequestOptions:
        return RequestOptions(canonical(options_for_form(provider.wire_form, tree)))

    return Bodies(
        encoded(with_tools),
        encoded(requiring),
        encoded(free),
        encoded(without_tools),
        encoded(plain),
        one_call=with_tools.get("parallel_tool_calls") is False,
        output_cap=_output_cap(accepted),
        quirks=quirks,
        ignored=(
            *(Ignored(key, "reserved") for key in reserved),
            *(Ignored(key, "unsupported") for key in requested if not _is_option_sent(key, provider)),
            *(Ignored(key, unfit) for key in accepted if key not in offered),
        ),
    )


def reserved_override_keys(overrides: Tree, form: WireForm = "chat_completions") -> tuple[str, ...]:
    """The keys that overrides may not set, in their order."""
    return tuple(key for key in overrides if key in _RESERVED_IN[form])


def accepted_options(options: Tree, provider: Provider) -> tuple[Tree, tuple[str, ...]]:
    """The options as the provider takes them, and the names of the settings that changed them."""
    kept = {key: value for key, value in options.items() if _is_option_sent(key, provider)}
    # DeepSeek ignores ``max_completion_tokens`` silently (earendil-works/pi#8018); OpenAI's reasoning models
    # reject ``max_tokens`` (simonw/llm#724).
    field = provider.max_tokens_field
    renamed = {field if field and key in _CHAT_CAPS else key: value for key, value in kept.items()}
    ruled, temperature = renamed, renamed.get("temperature")
    if provider.temperature_rule == "drop":
        ruled = _without_keys(renamed, "temperature")
    elif provider.temperature_rule == "max1" and isinstance(temperature, int | float) and temperature > 1:
        ruled = {**renamed, "temperature": 1}
    quirks = ["max_tokens_field"] if list(renamed) != list(kept) else []
    return ruled, (*quirks, *(["temperature_rule"] if ruled != renamed else []))


def _is_option_sent(key: str, provider: Provider) -> bool:
    return provider.support(key) != "no" and key not in _NOT_IN[provider.wire_form]


def _without_keys(tree: Tree, *keys: str) -> dict[str, Json]:
    return {key: value for key, value in tree.items() if key not in keys}
