"""The request that goes to the upstream: what the client sent, as this upstream takes it.

What need not change goes out as the client wrote it, so that the proxy is invisible to a client and a server
that understand each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._client_requests import ClientRequest, Loss, unsaid
from toolreel_core._conversation import REASONING, AssistantMessage, Message, SentCall, written
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    finite_text,
    items_of,
    merged,
    parse,
    read,
    tree_at,
)
from toolreel_core._plan import accepted_options, options_in, reserved_keys
from toolreel_core._proxy.client_form import misshapen
from toolreel_core._proxy.profile import (
    HISTORY_REPAIRED,
    SCHEMAS,
    Profile,
    own_options,
    projected,
    row_of,
    tools_for,
    unread,
)

# Calls of the client's history with arguments that every server can read.
#
# A client keeps what the model wrote, and sends it back: arguments that were cut, are no object or hold NaN.
# Servers that parse them refuse the whole conversation from then on (ggml-org/llama.cpp#25510,
# vllm-project/vllm#19419), so they go out as the loop itself writes them.


def readable(messages: Sequence[Message], entries: Sequence[Json]) -> tuple[Message, ...]:
    """The messages; those whose arguments are not the text of an object are replaced.

    :param entries: the same messages as the client wrote them
    """
    return tuple(
        _with_readable_parts(message, entry) for message, entry in zip(messages, entries, strict=True)
    )


def _with_readable_parts(message: Message, entry: Json) -> Message:
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message
    written = [
        tree_at(as_tree(call), "function").get("arguments") for call in items_of(as_tree(entry), "tool_calls")
    ]
    both = zip(message.calls, written, strict=True)
    calls = tuple([_with_object(call, original) for call, original in both])
    same = all(one is other for one, other in zip(calls, message.calls, strict=True))
    return message if same else replace(message, calls=calls)


def _with_object(call: SentCall, written: Json) -> SentCall:
    """The call with the text of an object: its own, or an empty one, as the result says what was wrong."""
    is_object = read(call.arguments).map(lambda tree: isinstance(tree, Mapping)).value_or(False)
    if not is_object:
        return replace(call, arguments="{}")
    return call if isinstance(written, str) else replace(call)


_PARTS: Final = frozenset({"model", "messages", "tools"})
_NEEDS_TOOLS: Final = ("tools", "tool_choice", "parallel_tool_calls")


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
        return _translate_request(request, profile, model or request.model)
    if form != "chat_completions":
        return _in_own_form(request, profile, model or request.model)
    options, dropped = _translate_options(request, profile)
    messages, mended = _translate_messages(request, profile)
    tools, transformed = tools_for(request.tree.get("tools"), profile)
    parts: Tree = {"model": model or request.model, "messages": messages, "tools": tools}
    # In the client's order, since servers that cache prompts compare bodies from their beginning.
    kept: list[str] = [
        key for key in request.tree if key in options or (key in _PARTS and parts[key] is not None)
    ]
    order = [*kept, *(["model"] if parts["model"] else []), *options]
    body: Tree = {key: parts[key] if key in _PARTS else options[key] for key in order}
    return Outbound(finite_text(body), tuple(dict.fromkeys((*mended, *transformed, *dropped))))


def _in_own_form(request: ClientRequest, profile: Profile, model: str) -> Outbound:
    """The body as the client sent it, with what has to change."""
    form, own = profile.provider.wire_form, request.own
    row = row_of(request, profile)
    tools, transformed = tools_for(own.get("tools"), profile, SCHEMAS[form])
    options, dropped = own_options(request, profile)
    parts: Tree = {"model": model, **row.parts(form), "tools": tools}
    kept = [key for key in own if key in options or parts.get(key) is not None]
    order = dict.fromkeys([*kept, *(key for key, value in parts.items() if value), *options])
    body: Tree = {key: parts[key] if key in parts else options[key] for key in order}
    return Outbound(finite_text(body), tuple(dict.fromkeys((*row.names, *transformed, *dropped))))


def _translate_request(request: ClientRequest, profile: Profile, model: str) -> Outbound | Loss:
    """The body in the form of the upstream, which is not the client's."""
    form = profile.provider.wire_form
    said, found = unsaid(request.tree, form)
    asked = request.own or request.tree
    losses = (*misshapen(asked, request.form), *request.losses, *found.losses, *unread(request, form))
    if losses:
        return losses[0]
    # Streamed chat completions say how many tokens they took only if they are asked.
    if form == "chat_completions" and said.get("stream") is True:
        asks = profile.provider.supports_stream_options != "no"
        said = {**said, "stream_options": {"include_usage": True}} if asks else said
    spoken = replace(request, tree=said)
    options, dropped = _translate_options(spoken, profile)
    row = row_of(spoken, profile)
    tools, transformed = tools_for(spoken.tree.get("tools"), profile)
    offered: Tree = {"tools": tools} if tools else {}
    body: Tree = {"model": model, **row.parts(form), **options_in(form, {**offered, **options})}
    # Only chat completions take the thoughts of others as their text.
    thoughts = (as_tree(entry).get(key) for entry in request.entries for key in REASONING)
    unsigned = ("reasoning",) if form != "chat_completions" and any(thoughts) else ()
    hints = tuple(f"without_{hint}" for hint in (*request.hints, *found.hints, *unsigned))
    return Outbound(finite_text(body), tuple(dict.fromkeys((*row.names, *transformed, *dropped, *hints))))


def _translate_options(request: ClientRequest, profile: Profile) -> tuple[Tree, tuple[str, ...]]:
    """The options as the upstream takes them, and the names of what changed them."""
    asked = {key: value for key, value in request.tree.items() if key not in _PARTS}
    defaults = as_tree(parse(profile.options))
    if not request.tree.get("tools"):
        defaults = {key: value for key, value in defaults.items() if key not in _NEEDS_TOOLS}
    overrides = as_tree(parse(profile.overrides))
    reserved = reserved_keys(overrides)
    settled = merged(
        merged(defaults, asked), {key: value for key, value in overrides.items() if key not in reserved}
    )
    taken, names = accepted_options(settled, profile.provider)
    unfit = [key for key in taken if not _takes_option(key, request, profile)]
    taken = {key: value for key, value in taken.items() if key not in unfit}
    lost = [key for key in settled if profile.provider.support(key) == "no"]
    return taken, (*names, *(f"without_{key}" for key in dict.fromkeys((*lost, *unfit))))


def _takes_option(key: str, request: ClientRequest, profile: Profile) -> bool:
    """Whether the upstream takes an option together with the rest of the request."""
    provider, has_tools = profile.provider, bool(request.tree.get("tools"))
    if key == "response_format" and has_tools:
        return provider.supports_response_format_with_tools != "no"
    return key not in _NEEDS_TOOLS or not has_tools or provider.supports_tools != "no"


def _translate_messages(request: ClientRequest, profile: Profile) -> tuple[Json, tuple[str, ...]]:
    if request.messages is None:
        return request.entries, ()
    messages = readable(request.messages, request.entries)
    # What is in another object than the client's was changed, so it goes out as we write it.
    read = zip(request.messages, messages, request.entries, strict=True)
    own = {id(message): entry for given, message, entry in read if given is message}
    sent: list[Json] = []
    names: dict[str, None] = {}
    form = profile.form
    for out in projected(messages, profile):
        text = written(out.message, form, opens=out.opens, closes=out.closes)
        quirks = (*out.quirks, *text.quirks)
        unchanged = not quirks and id(out.message) in own
        names |= dict.fromkeys(quirks or (() if unchanged else (HISTORY_REPAIRED,)))
        sent.append(own[id(out.message)] if unchanged else parse(text.text))
    if len(sent) < len(messages) and not names:
        names[HISTORY_REPAIRED] = None
    return sent, tuple(names)
