"""The request that goes to the upstream: what the client sent, as this upstream takes it.

What need not change goes out as the client wrote it, so that the proxy is invisible to a client and a server
that understand each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._conversation.message import Message
from toolreel_core._conversation.provider_quirks import written
from toolreel_core._conversation.valid_history import Outgoing, Projection, arranged, turn_begins
from toolreel_core._jsontext.canonical import Json, JsonText, Tree, canonical, finite, parse
from toolreel_core._jsontext.tree_access import as_tree, merged
from toolreel_core._plan.request import accepted_options, reserved_keys
from toolreel_core._proxy.client_request import ClientRequest
from toolreel_core._proxy.profile import Profile
from toolreel_core._proxy.readable_history import readable
from toolreel_core._transforms import apply_all

HISTORY_REPAIRED: Final = "history"
"""Name of the repair of a history that no setting asks for: an id, a name or a result in it was not valid."""

_PARTS: Final = frozenset({"model", "messages", "tools"})
_NEEDS_TOOLS: Final = ("tools", "tool_choice", "parallel_tool_calls")


@dataclass(frozen=True, slots=True)
class Outbound:
    """A request as it goes out."""

    body: JsonText
    repairs: tuple[str, ...] = ()
    """Names of the settings and transforms that changed it."""


def outbound(request: ClientRequest, profile: Profile, *, model: str = "") -> Outbound:
    """The body for the upstream.

    :param model: its name for the model, if it has another one than the client
    """
    options, dropped = _options(request, profile)
    messages, mended = _messages(request, profile)
    tools, transformed = _tools(request, profile)
    parts: Tree = {"model": model or request.model, "messages": messages, "tools": tools}
    # In the client's order, since servers that cache prompts compare bodies from their beginning.
    kept: list[str] = [
        key for key in request.tree if key in options or (key in _PARTS and parts[key] is not None)
    ]
    order = [*kept, *(["model"] if parts["model"] else []), *options]
    body: Tree = {key: parts[key] if key in _PARTS else options[key] for key in order}
    return Outbound(canonical(finite(body)), tuple(dict.fromkeys((*mended, *transformed, *dropped))))


def _options(request: ClientRequest, profile: Profile) -> tuple[Tree, tuple[str, ...]]:
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
    unfit = [key for key in taken if not _fits(key, request, profile)]
    taken = {key: value for key, value in taken.items() if key not in unfit}
    lost = [key for key in settled if profile.provider.support(key) == "no"]
    return taken, (*names, *(f"without_{key}" for key in dict.fromkeys((*lost, *unfit))))


def _fits(key: str, request: ClientRequest, profile: Profile) -> bool:
    """Whether the upstream takes an option beside what else the request has."""
    provider, has_tools = profile.provider, bool(request.tree.get("tools"))
    if key == "response_format" and has_tools:
        return provider.supports_response_format_with_tools != "no"
    return key not in _NEEDS_TOOLS or not has_tools or provider.supports_tools != "no"


def _messages(request: ClientRequest, profile: Profile) -> tuple[Json, tuple[str, ...]]:
    if request.messages is None:
        return request.entries, ()
    messages = readable(request.messages, request.entries)
    # What stands in another object than the client's was changed, so it goes out as we write it.
    read = zip(request.messages, messages, request.entries, strict=True)
    own = {id(message): entry for given, message, entry in read if given is message}
    sent: list[Json] = []
    names: dict[str, None] = {}
    form = profile.form
    for out in _projected(messages, profile):
        text = written(out.message, form, opens=out.opens, closes=out.closes)
        quirks = (*out.quirks, *text.quirks)
        unchanged = not quirks and id(out.message) in own
        names |= dict.fromkeys(quirks or (() if unchanged else (HISTORY_REPAIRED,)))
        sent.append(own[id(out.message)] if unchanged else parse(text.text))
    if len(sent) < len(messages) and not names:
        names[HISTORY_REPAIRED] = None
    return sent, tuple(names)


def _projected(messages: Sequence[Message], profile: Profile) -> list[Outgoing]:
    """What goes out for the messages, in order."""
    projection, sent = Projection(profile.provider), list[Outgoing]()
    arrangement = arranged(messages, profile.provider)
    begins = turn_begins([entry.message for entry in arrangement])
    for place, entry in enumerate(arrangement):
        projection, out = projection.of(entry.message, fresh=place >= begins)
        if entry.quirks and out:
            last = out[-1]
            out = (*out[:-1], Outgoing(last.message, (*entry.quirks, *last.quirks), last.opens, last.closes))
        sent += out
    return [*sent, *projection.unanswered()]


def _tools(request: ClientRequest, profile: Profile) -> tuple[Json, tuple[str, ...]]:
    """The entries of ``tools`` as they go out; null if none do."""
    tools = request.tree.get("tools")
    if profile.provider.supports_tools == "no" and tools:
        return None, ("without_tools",)
    if not isinstance(tools, list):
        return tools, ()
    schemas = profile.provider.schema_transform
    names = (*(() if schemas == "none" else (f"schema_{schemas}",)), *profile.config.tool_transforms)
    entries, changed = list[Json](), dict[str, None]()
    for entry in tools:
        if not isinstance(entry, dict):
            entries.append(entry)
            continue
        applied = apply_all("tool", names, entry)
        entries.append(applied.tree)
        changed |= dict.fromkeys(applied.changed)
    return entries, tuple(changed)
