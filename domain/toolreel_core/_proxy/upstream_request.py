"""The request that goes to the upstream: what the client sent, as this upstream takes it.

What need not change goes out as the client wrote it, so that the proxy is invisible to a client and a server
that understand each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

from toolreel_core._client_requests import ClientRequest, Loss, TranslatedItem, options_in_form, wrong_shapes
from toolreel_core._conversation import (
    REASONING,
    AssistantMessage,
    Audio,
    Form,
    Message,
    Outgoing,
    SystemMessage,
    ToolMessage,
    parts_of_message,
    project_history,
    write_message,
)
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    canonical_without_non_finite,
    list_at,
    merged,
    parse,
    read_json,
    tree_at,
)
from toolreel_core._plan import (
    Preset,
    accepted_options,
    options_for_form,
    reserved_override_keys,
    translate_options,
)
from toolreel_core._settings import LoopConfig, Provider, WireForm, apply_transforms

_NO_PRESET = Preset()
_ANY = Provider()
_TRAITS = frozenset(trait.name for trait in fields(Provider))
_DEFAULTS = LoopConfig()


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
        """The profile of a preset and of further settings.

        :param settings: of the loop and of the provider, which take precedence over the preset's
        """
        config, provider = preset.settings_with(settings or {})
        overrides = canonical(preset.changes()["request_overrides"])
        return cls(provider, config, canonical(preset.options(provider)), overrides)

    @property
    def form(self) -> Form:
        return Form(self.provider, self.config.message_transforms)

    def dialects(self, request: ClientRequest) -> tuple[str, ...]:
        offered = bool(request.tools.names) and request.tree.get("tool_choice") != "none"
        return self.config.dialects(offered=offered)


_REPAIRED = "history"
"""Name of the repair of a history that no setting asks for: an id, a name or a result in it was not valid."""
_APART = {"messages": "system", "responses": "instructions"}
"""The key of what the system says, where it is not one of the messages."""
_SCHEMA_KEYS = {"messages": "input_schema", "responses": "parameters"}
"""The key of an entry of ``tools`` that holds its schema, where the entry is the function itself."""
_PARTS = frozenset({"model", "messages", "input", "system", "instructions", "tools"})
_NEEDS_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")


@dataclass(frozen=True, slots=True)
class Outbound:
    body: JsonText
    repairs: tuple[str, ...] = ()
    """Names of the settings and transforms that changed it."""


def build_upstream_request(request: ClientRequest, profile: Profile, *, model: str = "") -> Outbound | Loss:
    """The body for the upstream, or what its form can't say of the request.

    :param model: its name for the model, if it has another one than the client
    """
    form, given, hints = profile.provider.wire_form, request.body, list[str]()
    own_form = request.form == form
    if not own_form:
        given, found = options_in_form(request.tree, form)
        losses = [*wrong_shapes(request.body, request.form), *found.losses, *request.losses]
        if form != "chat_completions":
            for number, message in enumerate(request.messages or ()):
                if any(isinstance(part, Audio) for part in parts_of_message(message)):
                    losses.append(Loss("audio", f"messages[{number}]"))
        if losses:
            return losses[0]
        hints += [f"without_{hint}" for hint in (*request.hints, *found.hints)]
        # Only chat completions take the thoughts of others as their text.
        if form != "chat_completions" and any(
            any(map(as_tree(entry).get, REASONING)) for entry in request.entries
        ):
            hints.append("without_reasoning")
    row, mended = _upstream_message_fields(request, profile)
    tools, transformed = _upstream_tools(
        given.get("tools"), profile, _SCHEMA_KEYS.get(form, "") if own_form else ""
    )
    options, dropped = _upstream_options(given, profile, form if own_form else "chat_completions")
    parts: Tree = {"model": model or request.model, **row}
    if own_form:
        # In the client's order, since servers that cache prompts compare bodies from their beginning.
        parts = {**parts, "tools": tools}
        kept = [key for key in given if key in options or parts.get(key) is not None]
        order = dict.fromkeys([*kept, *(key for key, value in parts.items() if value), *options])
        body: Tree = {key: parts[key] if key in parts else options[key] for key in order}
    else:
        options = {"tools": tools, **options} if tools else options
        # Streamed chat completions say how many tokens they took only if they are asked.
        asks = form == "chat_completions" and profile.provider.supports_stream_options != "no"
        if asks and given.get("stream") is True:
            options = {**options, "stream_options": {"include_usage": True}}
        body = {**parts, **options_for_form(form, options)}
    return Outbound(
        canonical_without_non_finite(body), tuple(dict.fromkeys((*mended, *transformed, *dropped, *hints)))
    )


def _upstream_options(given: Tree, profile: Profile, words: WireForm) -> tuple[Tree, tuple[str, ...]]:
    """The options, named as in this form, as the upstream takes them, and what changed them.

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
    reserved = reserved_override_keys(overrides, words)
    free = {key: value for key, value in overrides.items() if key not in reserved}
    settled = merged(merged(translate_options(words, defaults), asked), translate_options(words, free))
    taken, names = accepted_options(settled, provider)
    lost = [key for key in settled if provider.support(key) == "no"]
    if has_tools and provider.supports_response_format_with_tools == "no":
        lost += ["response_format"] if "response_format" in taken else []
    if has_tools and provider.supports_tools == "no":
        lost += [key for key in _NEEDS_TOOLS if key in taken]
    without = dict.fromkeys(f"without_{key}" for key in lost)
    return {key: value for key, value in taken.items() if key not in lost}, (*names, *without)


def _upstream_tools(tools: Json, profile: Profile, key: str = "") -> tuple[Json, tuple[str, ...]]:
    """The entries of ``tools`` as they go out, and what changed them.

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
        applied = apply_transforms(
            "tool", names, {"type": "function", "function": function} if key else entry
        )
        schema = tree_at(as_tree(applied.tree), "function").get("parameters")
        entries.append({**entry, key: schema} if key else applied.tree)
        changed |= dict.fromkeys(applied.changed)
    return entries, tuple(changed)


def _upstream_message_fields(request: ClientRequest, profile: Profile) -> tuple[Tree, tuple[str, ...]]:
    """The keys of the body that hold the messages, and the names of what changed them."""
    # A message that need not change goes out as the client wrote it, if in its own form.
    form = profile.provider.wire_form
    key, apart = "input" if form == "responses" else "messages", _APART.get(form, "")
    own = {name: value for name in (key, apart) if (value := request.body.get(name)) is not None}
    if request.messages is None:  # only where both speak the same form
        return own, ()
    read = [_with_readable_arguments(*both) for both in zip(request.messages, request.entries, strict=True)]
    places = _client_messages_by_id(request.said, read) if request.form == form else {}
    sent = [
        (out, write_message(out.message, profile.form))
        for out in project_history([message for message, _ in read], profile.provider)
    ]
    entries, names, system, at, passed = list[Json](), dict[str, None](), dict[str, Json](), 0, 0
    while at < len(sent):
        out, text = sent[at]
        # By identity: the projection gives back the same object where it changed nothing, and equal messages
        # may stand at two places.
        if place := places.get(id(out.message)):
            said, meant = place
            found = sent[at : at + len(meant)]
            if meant == [id(each.message) for each, by in found if not each.quirks and not by.quirks]:
                # Only what the system says has no element of its own: it stands under another key.
                entries += said.own
                system = system if said.own else {name: own[name] for name in own if name == apart}
                at, passed = at + len(meant), passed + 1
                continue
        names |= dict.fromkeys((*out.quirks, *text.quirks) or ((_REPAIRED,) if places else ()))
        if form == "messages" and isinstance(out.message, SystemMessage):
            system = {apart: parse(text.text)}
        elif form == "messages" and at > 0 and _is_tool_result(out) and _is_tool_result(sent[at - 1][0]):
            # Results of one turn are blocks of one message.
            last = as_tree(entries.pop())
            blocks = [*list_at(last, "content"), *list_at(as_tree(parse(text.text)), "content")]
            entries.append({**last, "content": blocks})
        else:
            entries += [parse(text.text), *map(parse, text.further)]
        at += 1
    if request.form == form:
        if not names and passed == len(request.said):
            return own, ()
        changed = not names
    else:  # a result without a call is left out, and a call without one gets one
        results = sum(isinstance(message, ToolMessage) for message in request.messages)
        changed = sum(_is_tool_result(out) for out, _ in sent) != results
    return {**system, key: entries}, (*names, _REPAIRED) if changed else tuple(names)


def _client_messages_by_id(
    said: Iterable[TranslatedItem], read: Iterable[tuple[Message, bool]]
) -> Mapping[int, tuple[TranslatedItem, Sequence[int]]]:
    """What a client wrote, and the ids of the messages that it is, by the first of them."""
    messages, places = iter(read), dict[int, tuple[TranslatedItem, Sequence[int]]]()
    for each in said:
        meant = [*islice(messages, len(each.chat))]
        if meant and all(as_written for _, as_written in meant):
            ids = [id(message) for message, _ in meant]
            places[ids[0]] = each, ids
    return places


def _is_tool_result(out: Outgoing) -> bool:
    return isinstance(out.message, ToolMessage)


def _with_readable_arguments(message: Message, entry: Json) -> tuple[Message, bool]:
    """A message whose calls every server can read, and whether the client wrote it so.

    A client keeps what the model wrote, and sends it back: arguments that were cut, are a list or hold NaN.
    Servers that parse them refuse the whole conversation from then on (ggml-org/llama.cpp#25510,
    vllm-project/vllm#19419), so an empty object goes out; the result says what was wrong.
    """
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message, True
    calls = tuple(
        call
        if isinstance(read_json(call.arguments).value_or(None), Mapping)
        else replace(call, arguments="{}")
        for call in message.calls
    )
    entries = map(as_tree, list_at(as_tree(entry), "tool_calls"))
    texts = all(isinstance(tree_at(call, "function").get("arguments"), str) for call in entries)
    return replace(message, calls=calls), texts and calls == message.calls
