"""The request that goes to the upstream: what the client sent, as this upstream takes it.

What need not change goes out as the client wrote it, so that the proxy is invisible to a client and a server
that understand each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, Final

from toolreel_core._client_requests import ClientRequest, Loss, unsaid
from toolreel_core._conversation import (
    REASONING,
    AssistantMessage,
    Audio,
    Form,
    Message,
    Outgoing,
    SystemMessage,
    ToolMessage,
    message_in,
    parts_of,
    projected,
    written,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    finite,
    finite_text,
    items_of,
    merged,
    parse,
    read,
    tree_at,
)
from toolreel_core._plan import Preset, accepted_options, options_in, reserved_keys, words_in
from toolreel_core._proxy.client_form import misshapen
from toolreel_core._settings import LoopConfig, Provider, WireForm
from toolreel_core._transforms import apply_all

# What a proxy does for one upstream: the settings of a preset, ready for use on requests of any client.


_NO_PRESET: Final = Preset()
_ANY: Final = Provider()
_TRAITS: Final = frozenset(trait.name for trait in fields(Provider))
_DEFAULTS: Final = LoopConfig()


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings with which requests to one upstream are written, and its replies are read."""

    provider: Provider = _ANY
    config: LoopConfig = _DEFAULTS
    options: JsonText = NOTHING
    """Options for requests that do not have them."""
    overrides: JsonText = NOTHING
    """Options that take precedence over those of requests."""

    @classmethod
    def of(cls, preset: Preset = _NO_PRESET, settings: Mapping[str, Any] | None = None) -> Profile:
        """The profile of a preset.

        >>> Profile.of(Preset.of("mine", {"provider": {"id_style": "kimi"}})).provider.id_style
        'kimi'

        :param settings: of the loop and of the provider, which take precedence over the preset's
        :raises ConfigError: if one does not exist, or has no such value
        """
        own, given = preset.changes(), settings or {}
        traits = {key: value for key, value in given.items() if key in _TRAITS}
        provider = Provider.of({**own["provider"], **traits})
        choices = {key: value for key, value in given.items() if key not in _TRAITS}
        return cls(
            provider,
            preset.config_with(choices),
            canonical(preset.options(provider)),
            canonical(own["request_overrides"]),
        )

    @property
    def form(self) -> Form:
        """How messages are written."""
        return Form(self.provider, self.config.message_transforms)

    def dialects(self, request: ClientRequest) -> tuple[str, ...]:
        """The dialects in which calls are read in the text of a reply to this request."""
        offered = bool(request.tools.names) and request.tree.get("tool_choice") != "none"
        return self.config.dialects(offered=offered)


_REPAIRED: Final = "history"
"""Name of the repair of a history that no setting asks for: an id, a name or a result in it was not valid."""
_APART: Final[Mapping[WireForm, str]] = {"messages": "system", "responses": "instructions"}
"""The key of what the system says, where it is not one of the messages."""
_SCHEMA_KEYS: Final[Mapping[WireForm, str]] = {"messages": "input_schema", "responses": "parameters"}
"""The key of an entry of ``tools`` that holds its schema, where the entry is the function itself."""
_PARTS: Final = frozenset({"model", "messages", "input", "system", "instructions", "tools"})
"""Keys of a body that are not options."""
_NEEDS_TOOLS: Final = ("tools", "tool_choice", "parallel_tool_calls")
_FEW: Final = 8
"""Places of a client's own messages that are searched for the one that goes out next."""


@dataclass(frozen=True, slots=True)
class Outbound:
    """A request as it goes out."""

    body: JsonText
    repairs: tuple[str, ...] = ()
    """Names of the settings and transforms that changed it."""


def outbound(request: ClientRequest, profile: Profile, *, model: str = "") -> Outbound | Loss:
    """The body for the upstream, or what its form can't say of the request.

    :param model: its name for the model, if it has another one than the client
    """
    form = profile.provider.wire_form
    if request.form != form:
        return _translated(request, profile, model or request.model)
    given = request.body
    row, mended = _message_keys(request, profile)
    tools, transformed = _tools(given.get("tools"), profile, _SCHEMA_KEYS.get(form, ""))
    options, dropped = _options(given, profile, form)
    parts: Tree = {"model": model or request.model, **row, "tools": tools}
    # In the client's order, since servers that cache prompts compare bodies from their beginning.
    kept = [key for key in given if key in options or parts.get(key) is not None]
    order = dict.fromkeys([*kept, *(key for key, value in parts.items() if value), *options])
    body: Tree = {key: parts[key] if key in parts else options[key] for key in order}
    return Outbound(finite_text(body), tuple(dict.fromkeys((*mended, *transformed, *dropped))))


def _translated(request: ClientRequest, profile: Profile, model: str) -> Outbound | Loss:
    """The body in the form of the upstream, which is not the client's."""
    form = profile.provider.wire_form
    said, found = unsaid(request.tree, form)
    losses = (*misshapen(request.body, request.form), *request.losses, *found.losses, *_unread(request, form))
    if losses:
        return losses[0]
    # Streamed chat completions say how many tokens they took only if they are asked.
    if form == "chat_completions" and said.get("stream") is True:
        asks = profile.provider.supports_stream_options != "no"
        said = {**said, "stream_options": {"include_usage": True}} if asks else said
    options, dropped = _options(said, profile, "chat_completions")
    row, mended = _message_keys(request, profile)
    tools, transformed = _tools(said.get("tools"), profile)
    offered: Tree = {"tools": tools} if tools else {}
    body: Tree = {"model": model, **row, **options_in(form, {**offered, **options})}
    # Only chat completions take the thoughts of others as their text.
    thoughts = (as_tree(entry).get(key) for entry in request.entries for key in REASONING)
    unsigned = ("reasoning",) if form != "chat_completions" and any(thoughts) else ()
    hints = tuple(f"without_{hint}" for hint in (*request.hints, *found.hints, *unsigned))
    return Outbound(finite_text(body), tuple(dict.fromkeys((*mended, *transformed, *dropped, *hints))))


def _unread(request: ClientRequest, form: WireForm) -> Iterator[Loss]:
    """What of the messages an upstream's form can't say, where reading them has not told."""
    for number, entry in enumerate(request.entries):
        try:
            message = message_in(as_tree(entry), f"messages[{number}]")
        except ConfigError as error:
            stored = '"file_id"' in canonical(finite(entry))
            yield Loss("stored_file" if stored else "unknown", str(error).partition(": ")[0])
        else:
            if form != "chat_completions" and any(isinstance(part, Audio) for part in parts_of(message)):
                yield Loss("audio", f"messages[{number}]")


def _options(given: Tree, profile: Profile, words: WireForm) -> tuple[Tree, tuple[str, ...]]:
    """The options as the upstream takes them, and the names of what changed them.

    :param words: the form whose names the options have
    """
    provider, has_tools = profile.provider, bool(given.get("tools"))
    if words != "chat_completions":  # its own names are the client's to know
        provider = replace(provider, wire_form="chat_completions", max_tokens_field="")
    defaults = {
        key: value
        for key, value in as_tree(parse(profile.options)).items()
        if has_tools or key not in _NEEDS_TOOLS
    }
    asked = {key: value for key, value in given.items() if key not in _PARTS}
    overrides = as_tree(parse(profile.overrides))
    reserved = reserved_keys(overrides, words)
    free = {key: value for key, value in overrides.items() if key not in reserved}
    settled = merged(merged(words_in(words, defaults), asked), words_in(words, free))
    taken, names = accepted_options(settled, provider)
    unfit = [key for key in taken if has_tools and not _is_taken_with_tools(key, profile)]
    lost = [key for key in settled if provider.support(key) == "no"]
    taken = {key: value for key, value in taken.items() if key not in unfit}
    return taken, (*names, *(f"without_{key}" for key in dict.fromkeys((*lost, *unfit))))


def _is_taken_with_tools(key: str, profile: Profile) -> bool:
    if key == "response_format":
        return profile.provider.supports_response_format_with_tools != "no"
    return key not in _NEEDS_TOOLS or profile.provider.supports_tools != "no"


def _tools(tools: Json, profile: Profile, key: str = "") -> tuple[Json, tuple[str, ...]]:
    """The entries of ``tools`` as they go out, and the names of what changed them; null if none do.

    :param key: where an entry has its schema; empty for entries of chat completions
    """
    if profile.provider.supports_tools == "no" and tools:
        return None, ("without_tools",)
    schemas = profile.provider.schema_transform
    names = (*(() if schemas == "none" else (f"schema_{schemas}",)), *profile.config.tool_transforms)
    if not names or not isinstance(tools, list):
        return tools, ()
    entries, changed = list[Json](), dict[str, None]()
    for entry in tools:
        if not isinstance(entry, Mapping) or (key and key not in entry):
            entries.append(entry)
            continue
        function: Tree = {"name": entry.get("name"), "parameters": entry.get(key)}
        applied = apply_all("tool", names, {"type": "function", "function": function} if key else entry)
        schema = tree_at(as_tree(applied.tree), "function").get("parameters")
        entries.append({**entry, key: schema} if key else applied.tree)
        changed |= dict.fromkeys(applied.changed)
    return entries, tuple(changed)


def _message_keys(request: ClientRequest, profile: Profile) -> tuple[Tree, tuple[str, ...]]:
    """The keys of the body that hold the messages, and the names of what changed them.

    A message that need not change goes out as the client wrote it, if in its own form.
    """
    form = profile.provider.wire_form
    key = "input" if form == "responses" else "messages"
    own = {
        name: value
        for name in (key, _APART.get(form))
        if name and (value := request.body.get(name)) is not None
    }
    if request.messages is None:  # only where both speak the same form
        return own, ()
    said = request.said if request.form == form else ()
    read = [_readable(*both) for both in zip(request.messages, request.entries, strict=True)]
    outgoing = projected([message for message, _ in read], profile.provider)
    sent = [(out, written(out.message, profile.form)) for out in outgoing]
    ends = [0, *accumulate(len(each.chat) for each in said)]

    def is_unchanged(number: int, at: int) -> bool:
        """Whether what the client said at a place goes out here as it is."""
        meant = read[ends[number] : ends[number + 1]]
        found = sent[at : at + len(meant)]
        same = meant == [(out.message, True) for out, _ in found]
        return bool(meant) and same and not any(out.quirks or text.quirks for out, text in found)

    entries, names, system, passed = list[Json](), dict[str, None](), dict[str, Json](), 0
    place = at = 0
    while at < len(sent):
        near = range(place, min(place + _FEW, len(said)))
        number = next((number for number in near if is_unchanged(number, at)), None)
        if number is not None:
            entries += said[number].own
            system = system if said[number].own else {name: own[name] for name in own if name != key}
            passed, place, at = passed + 1, number + 1, at + len(said[number].chat)
            continue
        out, text = sent[at]
        names |= dict.fromkeys((*out.quirks, *text.quirks) or ((_REPAIRED,) if said else ()))
        if form == "messages" and isinstance(out.message, SystemMessage):
            system = {_APART[form]: parse(text.text)}
        elif form == "messages" and at > 0 and _is_result(out) and _is_result(outgoing[at - 1]):
            # Results of one turn are blocks of one message.
            blocks = [
                *items_of(as_tree(entries[-1]), "content"),
                *items_of(as_tree(parse(text.text)), "content"),
            ]
            entries[-1] = {**as_tree(entries[-1]), "content": blocks}
        else:
            entries += [parse(text.text), *map(parse, text.further)]
        at += 1
    if said and passed == len(said) and not names:
        return own, ()
    # A result without a call is left out, and a call without one gets one.
    results = sum(isinstance(message, ToolMessage) for message in request.messages)
    if (said and not names) or (not said and sum(map(_is_result, outgoing)) != results):
        names[_REPAIRED] = None
    return {**system, key: entries}, tuple(names)


def _is_result(out: Outgoing) -> bool:
    return isinstance(out.message, ToolMessage)


def _readable(message: Message, entry: Json) -> tuple[Message, bool]:
    """A message whose calls every server can read, and whether the client wrote it so.

    A client keeps what the model wrote, and sends it back: arguments that were cut, are a list or hold NaN.
    Servers that parse them refuse the whole conversation from then on (ggml-org/llama.cpp#25510,
    vllm-project/vllm#19419), so an empty object goes out; the result says what was wrong.
    """
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message, True
    calls = tuple(
        call if isinstance(read(call.arguments).value_or(None), Mapping) else replace(call, arguments="{}")
        for call in message.calls
    )
    entries = map(as_tree, items_of(as_tree(entry), "tool_calls"))
    texts = all(isinstance(tree_at(call, "function").get("arguments"), str) for call in entries)
    return replace(message, calls=calls), texts and calls == message.calls
