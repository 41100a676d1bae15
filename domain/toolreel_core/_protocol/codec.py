"""Serialise plans, states, events, effects and notes to versioned JSON, and load them.

The stored form follows the classes: a value is ``{"type": "<class_name>", **fields}``, canonical JSON text
is stored as a string, a transcript as its messages. Computed fields and fields with their default value are
not stored, so a new field changes no record; a default that changes needs a new :data:`VERSION`. Loading
checks every field against its annotation, so a damaged record raises an error that names the place, and
never becomes a wrong state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from pyrsistent import PMap, pmap

from toolreel_core._conversation import Form, Message, Transcript
from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, either, read
from toolreel_core._plan import Plan
from toolreel_core._protocol.blobs import MENTION, by_digest, check_blob, with_blobs
from toolreel_core._protocol.effects import Effect
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.restored_calls import check_phase
from toolreel_core._protocol.state import State

VERSION: Final = 1
"""The version of stored values and of journals. Raise it when a stored form, or a default that records leave
out, changes: whatever has another version is rejected."""

Stored: TypeAlias = Plan | State | Event | Effect | Note

_Reader: TypeAlias = Callable[[Json, str], object]


def dump(value: Stored) -> JsonText:
    """The versioned text of a value.

    >>> from toolreel_core._protocol.events import ToolReturned
    >>> dump(ToolReturned(2, "{}"))
    '{"toolreel":1,"value":{"type":"tool_returned","ref":2,"output":"{}"}}'
    """
    tree = encode(value)
    text = canonical({"toolreel": VERSION, "value": tree})
    return text if MENTION not in text else canonical(_extract_blobs(tree))


def to_json(value: Stored) -> Tree:
    """What :func:`dump` writes, as parsed JSON: for a column or a message that takes JSON itself.

    >>> from toolreel_core._protocol.events import ToolReturned
    >>> to_json(ToolReturned(2, "{}"))
    {'toolreel': 1, 'value': {'type': 'tool_returned', 'ref': 2, 'output': '{}'}}
    """
    return _extract_blobs(encode(value))


def _extract_blobs(tree: Json) -> Tree:
    tree, blobs = by_digest(tree)
    apart: Tree = {"blobs": blobs} if blobs else {}
    return {"toolreel": VERSION, "value": tree, **apart}


def from_json(stored: str | Tree) -> Stored:
    """Read whatever :func:`to_json` or :func:`dump` wrote, for code that carries values of any kind.

    Where you know the kind, write ``load_state`` and so on, which reject every other.

    :raises CodecError: if it is nothing that this version stores
    """
    found = cast("Stored", _decode_as(Stored, stored))
    if isinstance(found, State):
        check_phase(found)
    return found


def load_state(stored: str | Tree) -> State:
    """Read a state from the text of :func:`dump` or the tree of :func:`to_json`.

    A running call, or one that waits for approval, must be one that the plan of the state lets run. The plan
    itself, and that a running call was approved, cannot be checked: load only states that nobody else can
    write, or seal them (``seal``, ``unseal``).

    :raises CodecError: if it is not a state of this version; the same for all ``load_`` functions
    """
    state = cast("State", _decode_as(State, stored))
    check_phase(state)
    return state


def load_plan(stored: str | Tree) -> Plan:
    """Read a stored plan."""
    return cast("Plan", _decode_as(Plan, stored))


def load_event(stored: str | Tree) -> Event:
    """Read a stored event.

    >>> load_event('{"toolreel":1,"value":{"type":"tool_returned","ref":"2","output":"{}"}}')
    Traceback (most recent call last):
    ...
    toolreel_core.CodecError: value.ref: expected int, got "2"
    """
    return cast("Event", _decode_as(Event, stored))


def load_effect(stored: str | Tree) -> Effect:
    """Read a stored effect."""
    return cast("Effect", _decode_as(Effect, stored))


def load_note(stored: str | Tree) -> Note:
    """Read a stored note."""
    return cast("Note", _decode_as(Note, stored))


def decode(kind: object, tree: Json, place: str) -> object:
    """Read an encoded value of this annotation from inside a larger record; errors begin with the place."""
    return reader_for(kind)(tree, place)


def decode_plan(tree: Json) -> Plan:
    """Read an encoded plan from inside a larger record."""
    return cast("Plan", reader_for(Plan)(tree, "plan"))


def decode_event(tree: Json) -> Event:
    """Read an encoded event from inside a larger record."""
    return cast("Event", reader_for(Event)(tree, "event"))


def encode(value: object) -> Json:
    """The stored form of a value, as parsed JSON."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Transcript():
            return _encode_transcript(value)
        case tuple():
            return [encode(item) for item in value]
        case PMap():  # sorted, since its own order depends on the hash seed
            return {key: encode(value[key]) for key in sorted(value)}
        case _ if is_dataclass(value):
            given = [(item, getattr(value, item.name)) for item in fields(value) if item.init]
            stored = {item.name: encode(content) for item, content in given if content != item.default}
            return {"type": tag(type(value)), **stored}
        case _:
            raise CodecError(f"{value!r} has no stored form")


def _encode_transcript(transcript: Transcript) -> Json:
    """The messages; with a provider's form or a shortened history, an object that has those too."""
    messages: Json = [encode(message) for message in transcript.messages]
    if transcript.form == Form() and transcript.kept is None:
        return messages
    kept = None if transcript.kept is None else [encode(message) for message in transcript.kept]
    return {"messages": messages, "form": encode(transcript.form), "kept": kept}


def _decode_as(kind: object, stored: str | Tree) -> object:
    if isinstance(stored, str):
        tree = either(read(stored).alt(lambda why: CodecError(f"not a stored value: {why}")))
        if isinstance(tree, CodecError):
            raise tree
    else:
        tree = stored
    match tree:
        case {"toolreel": version, "value": value, **foreign}:
            if type(version) is not int or version != VERSION:
                raise CodecError(
                    f"stored in version {version!r}; this toolreel reads version {VERSION}: "
                    "load it with the release that stored it"
                )
            blobs = foreign.pop("blobs", None)
            if foreign:
                raise CodecError(f"{', '.join(map(str, foreign))} is unknown to this version")
            return reader_for(kind)(
                value if blobs is None else _insert_blobs(value, cast("Json", blobs)), "value"
            )
        case _:
            raise CodecError("not a stored value: expected an object with 'toolreel' and 'value'")


def _insert_blobs(value: Json, blobs: Json) -> Json:
    if not isinstance(blobs, Mapping):
        raise codec_error("blobs", "an object", blobs)
    checked = {digest: check_blob(digest, base64, f"blobs.{digest}") for digest, base64 in blobs.items()}
    return with_blobs(value, checked, "value")


def tag(kind: type) -> str:
    """The name under which values of a class are stored.

    >>> tag(Plan)
    'plan'
    """
    # An underscore before each capital but the first.
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


@cache
def reader_for(hint: object) -> _Reader:
    """The function that reads a value of this annotation.

    Cached, and recursive calls happen while reading: annotations may refer to each other.
    """
    # Special cases come first: both are classes that the general rules below would read field by field.
    if hint is Transcript:
        return _read_transcript
    if hint is JsonText:
        return _read_json_text
    if get_origin(hint) in {Union, UnionType}:
        return _union_reader(get_args(hint))
    if get_origin(hint) is PMap:
        return _map_reader(reader_for(get_args(hint)[1]))
    if get_origin(hint) is Literal:
        return _literal_reader(get_args(hint))
    if get_origin(hint) is tuple:
        return _tuple_reader(reader_for(get_args(hint)[0]))
    kind = cast("type[Any]", hint)
    return _class_reader(kind) if is_dataclass(kind) else _scalar_reader(kind)


def _read_transcript(tree: Json, place: str) -> object:
    if not isinstance(tree, Mapping):
        return Transcript.of(_read_messages(tree, place))
    if {*tree} != {"messages", "form", "kept"}:
        raise codec_error(place, "a list, or an object of messages, form and kept", tree)
    messages, kept = _read_messages(tree["messages"], f"{place}.messages"), tree["kept"]
    less = None if kept is None else _read_messages(kept, f"{place}.kept")
    form = cast("Form", reader_for(Form)(tree["form"], f"{place}.form"))
    try:
        return Transcript.of(messages, form, kept=less)
    except ConfigError as error:
        raise CodecError(f"{place}.form: {error}") from error


def _read_messages(tree: Json, place: str) -> tuple[Message, ...]:
    return cast("tuple[Message, ...]", reader_for(tuple[Message, ...])(tree, place))


def codec_error(place: str, expected: str, tree: Json) -> CodecError:
    """What is wrong with a stored value, which is told up to 80 characters of it."""
    text = canonical(tree)
    return CodecError(f"{place}: expected {expected}, got {text if len(text) <= 80 else text[:80] + '…'}")


def _read_json_text(tree: Json, place: str) -> JsonText:
    text = either(read(tree).map(canonical)) if isinstance(tree, str) else None
    if not isinstance(text, JsonText) or text != tree:
        raise codec_error(place, "canonical JSON text", tree)
    return text


def _scalar_reader(kind: type) -> _Reader:
    def read_scalar(tree: Json, place: str) -> object:
        # type(), since True is an instance of int. JSON has one kind of number, so an int passes as a float.
        if type(tree) is not kind and not (kind is float and type(tree) is int):
            raise codec_error(place, kind.__name__, tree)
        return tree

    return read_scalar


def _literal_reader(allowed: tuple[str, ...]) -> _Reader:
    def read_literal(tree: Json, place: str) -> object:
        if tree not in allowed:
            raise codec_error(place, f"one of {', '.join(allowed)}", tree)
        return tree

    return read_literal


def _tuple_reader(item: _Reader) -> _Reader:
    def read_tuple(tree: Json, place: str) -> object:
        if not isinstance(tree, Sequence) or isinstance(tree, str):
            raise codec_error(place, "a list", tree)
        return tuple(item(value, f"{place}[{index}]") for index, value in enumerate(tree))

    return read_tuple


def _map_reader(item: _Reader) -> _Reader:
    def read_map(tree: Json, place: str) -> object:
        if not isinstance(tree, Mapping):
            raise codec_error(place, "an object", tree)
        return pmap({key: item(value, f"{place}.{key}") for key, value in tree.items()})

    return read_map


def _union_reader(kinds: tuple[Any, ...]) -> _Reader:
    classes = {tag(kind): kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)}
    plain = [kind for kind in kinds if not is_dataclass(kind)]

    def read_union(tree: Json, place: str) -> object:
        if classes and isinstance(tree, Mapping):
            kind = classes.get(str(tree.get("type")))
            if kind is None:
                raise codec_error(f"{place}.type", f"one of {', '.join(classes)}", tree.get("type"))
            return reader_for(kind)(tree, place)
        for kind in plain:
            if kind is NoneType and tree is None:
                return None
            if kind is not NoneType and tree is not None:
                return reader_for(kind)(tree, place)
        raise codec_error(place, " or ".join([*classes, *(kind.__name__ for kind in plain)]), tree)

    return read_union


def _class_reader(kind: type[Any]) -> _Reader:
    hints = get_type_hints(kind)
    stored = [item for item in fields(kind) if item.init]
    required = {item.name for item in stored if item.default is MISSING}

    def read_class(tree: Json, place: str) -> object:
        if not isinstance(tree, Mapping) or tree.get("type") != tag(kind):
            raise codec_error(place, f"an object of type {tag(kind)}", tree)
        given = {name: value for name, value in tree.items() if name != "type"}
        if missing := sorted(required - given.keys()):
            raise CodecError(f"{place}.{missing[0]}: is missing")
        if foreign := sorted(given.keys() - {item.name for item in stored}):
            raise CodecError(f"{place}.{foreign[0]}: is unknown to this version")
        values = {name: reader_for(hints[name])(value, f"{place}.{name}") for name, value in given.items()}
        try:
            return kind(**values)
        except ConfigError as error:
            raise CodecError(f"{place}: {error}") from error

    return read_class
