"""What a proxy does for one upstream, and for upstreams that speak another form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, Final, TypeAlias, assert_never

from toolreel_core._client_requests import ClientRequest, Loss, Said
from toolreel_core._conversation import (
    Audio,
    Form,
    Message,
    Outgoing,
    Projection,
    SystemMessage,
    ToolMessage,
    arranged,
    message_in,
    parts_of,
    turn_begins,
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
    items_of,
    merged,
    parse,
    tree_at,
)
from toolreel_core._plan import Preset, accepted_options, reserved_keys, words_in
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


# Parts of a request to an upstream that speaks another form than chat completions, or than the client.


HISTORY_REPAIRED: Final = "history"
"""Name of the repair of a history that no setting asks for: an id, a name or a result in it was not valid."""

_APART: Final = {"messages": "system", "responses": "instructions"}
"""Where what the system says stands, if it is no element of the row."""
_PARTS: Final = frozenset({"model", "messages", "input", "system", "instructions", "tools"})
SCHEMAS: Final = {"messages": "input_schema", "responses": "parameters"}
_FEW: Final = 8
"""Places of a client's own messages that are searched for the one that goes out next."""

_Piece: TypeAlias = Said | Outgoing


@dataclass(frozen=True, slots=True)
class Row:
    """The messages of a request as they go out."""

    entries: Json
    system: Json = None
    """What the system says, where it is no element."""
    names: tuple[str, ...] = ()
    """What has changed them."""

    def parts(self, form: WireForm) -> Tree:
        """The keys of the body that they are."""
        apart: Tree = {_APART[form]: self.system} if self.system is not None else {}
        return {**apart, "input" if form == "responses" else "messages": self.entries}


def row_of(request: ClientRequest, profile: Profile) -> Row:
    """The messages for an upstream; what need not change goes out as the client wrote it, in its own form."""
    form = profile.provider.wire_form
    key = "input" if form == "responses" else "messages"
    apart = request.own.get(_APART[form]) if form in _APART else None
    if request.messages is None:  # only where both speak the same form
        return Row(request.own.get(key), apart)
    said = request.said if request.form == form else ()
    pieces = _split_history(projected(request.messages, profile), said, request.messages)
    if said and all(isinstance(piece, Said) for piece in pieces) and len(pieces) == len(said):
        return Row(request.own.get(key), apart)
    entries, names = list[Json](), dict[str, None]()
    system: Json = None
    for at, piece in enumerate(pieces):
        match piece:
            case Said():
                entries += piece.own
                system = system if piece.own else apart
            case Outgoing():
                text = written(piece.message, profile.form)
                names |= dict.fromkeys((*piece.quirks, *text.quirks) or ((HISTORY_REPAIRED,) if said else ()))
                if form == "messages" and isinstance(piece.message, SystemMessage):
                    system = parse(text.text)
                elif form == "messages" and _is_result(piece) and at > 0 and _is_result(pieces[at - 1]):
                    entries[-1] = _join_results(entries[-1], parse(text.text))
                else:
                    entries += [parse(text.text), *map(parse, text.further)]
            case _:
                assert_never(piece)
    # A result without a call is left out, and a call without one gets one.
    asked = sum(isinstance(message, ToolMessage) for message in request.messages)
    if (said and not names) or (not said and sum(map(_is_result, pieces)) != asked):
        names[HISTORY_REPAIRED] = None
    return Row(entries, system, tuple(names))


def _is_result(piece: _Piece) -> bool:
    if isinstance(piece, Said):
        return piece.chat[-1].get("role") == "tool"
    return isinstance(piece.message, ToolMessage)


def _join_results(entry: Json, more: Json) -> Tree:
    """Results of one turn, which are blocks of one message in Messages."""
    tree = as_tree(entry)
    return {**tree, "content": [*items_of(tree, "content"), *items_of(as_tree(more), "content")]}


def _split_history(
    sent: Sequence[Outgoing], said: Sequence[Said], messages: Sequence[Message]
) -> list[_Piece]:
    """What goes out, with what is as the client wrote it in the client's own words."""
    pieces: list[_Piece] = []
    ends = [0, *accumulate(len(one.chat) for one in said)]
    place = at = 0
    while at < len(sent):
        for number in range(place, min(place + _FEW, len(said))):
            meant = messages[ends[number] : ends[number + 1]]
            found = sent[at : at + len(meant)]
            same = not any(out.quirks for out in found) and [out.message for out in found] == [*meant]
            if meant and same:
                pieces.append(said[number])
                place, at = number + 1, at + len(meant)
                break
        else:
            pieces.append(sent[at])
            at += 1
    return pieces


def projected(messages: Sequence[Message], profile: Profile) -> list[Outgoing]:
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


def own_options(request: ClientRequest, profile: Profile) -> tuple[Tree, tuple[str, ...]]:
    """The options of a client that speaks the upstream's form, and the names of what changed them."""
    form = profile.provider.wire_form
    asked = {key: value for key, value in request.own.items() if key not in _PARTS}
    overrides = as_tree(parse(profile.overrides))
    reserved = reserved_keys(overrides, form)
    settled = merged(
        merged(words_in(form, as_tree(parse(profile.options))), asked),
        words_in(form, {key: value for key, value in overrides.items() if key not in reserved}),
    )
    # Names of options that chat completions have as well; what each form says is the client's to know.
    taken, names = accepted_options(
        settled, replace(profile.provider, wire_form="chat_completions", max_tokens_field="")
    )
    return taken, (*names, *(f"without_{key}" for key in settled if key not in taken))


def tools_for(tools: Json, profile: Profile, key: str = "") -> tuple[Json, tuple[str, ...]]:
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


def unread(request: ClientRequest, form: WireForm) -> Iterator[Loss]:
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
