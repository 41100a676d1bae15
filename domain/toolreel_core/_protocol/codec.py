"""Serialise plans, states, events, effects and notes to versioned JSON, and load them.

The stored form follows the classes: a value is ``{"type": "<class_name>", **fields}``, canonical JSON text
is stored as a string, a transcript as its messages. Computed fields and fields with their default value are
not stored, so a new field changes no record; a default that changes needs a new :data:`CODEC_VERSION`.
Loading checks every field against its annotation, so a damaged record raises an error that names the place,
and never becomes a wrong state.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from collections.abc import Container, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from hashlib import sha256
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from pyrsistent import PMap, pmap

from toolreel_core._conversation import SUMMARIZE, Blob, Form, Message, Transcript, blobs_of, parts_of_message
from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, json_text, read_json, value_or_failure
from toolreel_core._plan import Plan
from toolreel_core._protocol.effects import ANSWERS, Effect, Unanswered, fingerprint
from toolreel_core._protocol.events import Event, ToolReturned, UserSpoke
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.state import AwaitingApproval, AwaitingReply, AwaitingTools, State, Waiting
from toolreel_core._replies import ToolCall
from toolreel_core._schema import violations

# Blobs in records: their bytes stand once, by their digest, however many messages have them.
#
# Stored, a blob is ``{"type": "blob", "media_type", "base64"}``. A record that holds more than one value
# writes ``digest`` instead of ``base64``, and the Base64 of each digest once in a place of its own.


MENTION = '"type":"blob"'
"""What canonical text has where it has a blob: nowhere else, since quotes in texts are escaped."""


def blobs_in(value: Plan | Event) -> tuple[Blob, ...]:
    """The blobs of a plan's messages or of an event, in order."""
    if isinstance(value, Plan):
        return tuple([blob for message in value.messages for blob in blobs_of(parts_of_message(message))])
    return blobs_of(value.parts) if isinstance(value, UserSpoke | ToolReturned) else ()


def restore_blobs(tree: Json, blobs: Mapping[str, str], place: str) -> Json:
    """The stored form with the bytes of each blob in its place.

    :param blobs: Base64 by digest, which has been checked
    """
    match tree:
        case {"type": "blob", "media_type": media_type, "digest": digest}:
            if not isinstance(digest, str) or digest not in blobs:
                raise CodecError(f"{place}: the bytes of the blob {digest!r} are missing; record it again")
            return {"type": "blob", "media_type": media_type, "base64": blobs[digest]}
        case Mapping():
            return {key: restore_blobs(item, blobs, place) for key, item in tree.items()}
        case [*items]:
            return [restore_blobs(item, blobs, place) for item in items]
        case _:
            return tree


def check_blob(digest: str, base64: object, place: str) -> str:
    try:
        fits = f"sha256:{sha256(b64decode(str(base64), validate=True)).hexdigest()}" == digest
    except ValueError:
        fits = False
    if not fits:
        raise CodecError(
            f"{place}: the bytes do not fit the digest {digest}; they were damaged, record again"
        )
    return str(base64)


# The phase of a stored state, checked against the tools of its plan.
#
# A running call was admitted once, so a state in which it could not have been is damaged or forged. The
# checks are those of ``_loop/tool_calls.py``, as far as they still hold after a call was coerced. Whether a
# person approved a running call is not among them: nothing in a state could prove it, so a state that others
# can write has to be sealed (:func:`~toolreel_core._protocol.codec.seal`).


def check_phase(state: State) -> None:
    """Check that the plan lets the calls in a phase run, has its summary made, and has its endpoint."""
    known = len(state.plan.fallbacks)
    if not 0 <= state.endpoint <= known:
        raise CodecError(f"value.endpoint: the plan has {known} fallbacks, got {state.endpoint}")
    phase, plan = state.phase, state.plan
    sent = phase.failed if isinstance(phase, Waiting) else phase
    if isinstance(sent, AwaitingReply):
        config = state.present.config
        summarizes = SUMMARIZE in config.history_policies and config.context_window_tokens is not None
        if sent.purpose == "summary" and not summarizes:
            place = "value.phase" if sent is phase else "value.phase.failed"
            raise CodecError(f"{place}.purpose: the plan has no summaries made")
    elif isinstance(phase, AwaitingApproval):
        if phase.call.arguments != phase.arguments:
            raise CodecError("value.phase: the arguments to approve are not those of the call")
        _check_call(plan, phase.call, "value.phase.call")
    elif isinstance(phase, AwaitingTools):
        open_refs = [flight.ref for flight in phase.running if flight.result is None]
        if not open_refs:
            raise CodecError("value.phase.running: no call is running")
        if len(set(open_refs)) < len(open_refs):
            raise CodecError("value.phase.running: two calls have the same ref")
        for index, flight in enumerate(phase.running):
            if flight.result is None:
                _check_call(plan, flight.call, f"value.phase.running[{index}].call")


def _check_call(plan: Plan, call: ToolCall, place: str) -> None:
    tool = plan.tools.by_name.get(call.name)
    if tool is None or not tool.exposed:
        known = "may not be called" if call.name in plan.tools.known else "is not in the plan"
        raise CodecError(f"{place}.name: the tool {call.name!r} {known}")
    if not isinstance(call.arguments, JsonText):
        raise CodecError(f"{place}.arguments: they could not be read, so the call never ran")
    if plan.config.text_calls_for == "read_only" and call.from_text and not tool.read_only:
        raise CodecError(f"{place}: the tool {call.name!r} may not be called in text")
    if found := violations(tool.parameters, call.arguments):
        raise CodecError(f"{place}.arguments: {found[0]}")


CODEC_VERSION = 1
"""The version of stored values and of journals. Raise it when a stored form, or a default that records leave
out, changes: whatever has another version is rejected."""

Stored: TypeAlias = Plan | State | Event | Effect | Note


def dump(value: Stored) -> JsonText:
    """The versioned text of a value.

    >>> from toolreel_core._protocol.events import ToolReturned
    >>> dump(ToolReturned(2, "{}"))
    '{"toolreel":1,"value":{"type":"tool_returned","ref":2,"output":"{}"}}'
    """
    return canonical(to_json(value))


def to_json(value: Stored) -> Tree:
    """What :func:`dump` writes, as parsed JSON: for a column or a message that takes JSON itself.

    >>> from toolreel_core._protocol.events import ToolReturned
    >>> to_json(ToolReturned(2, "{}"))
    {'toolreel': 1, 'value': {'type': 'tool_returned', 'ref': 2, 'output': '{}'}}
    """
    blobs: dict[str, Json] = {}
    tree = encode(value, blobs)
    apart: Tree = {"blobs": blobs} if blobs else {}
    return {"toolreel": CODEC_VERSION, "value": tree, **apart}


def from_json(stored: str | Tree) -> Stored:
    """Read whatever :func:`to_json` or :func:`dump` wrote, for code that carries values of any kind.

    Where you know the kind, write ``load_state`` and so on, which reject every other.

    :raises CodecError: if it is nothing that this version stores
    """
    found = cast("Stored", _load(Stored, stored))
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
    state = cast("State", _load(State, stored))
    check_phase(state)
    return state


def load_plan(stored: str | Tree) -> Plan:
    """Read a stored plan."""
    return cast("Plan", _load(Plan, stored))


def load_event(stored: str | Tree) -> Event:
    """Read a stored event.

    >>> load_event('{"toolreel":1,"value":{"type":"tool_returned","ref":"2","output":"{}"}}')
    Traceback (most recent call last):
    ...
    toolreel_core.CodecError: value.ref: expected int, got "2"
    """
    return cast("Event", _load(Event, stored))


def load_effect(stored: str | Tree) -> Effect:
    """Read a stored effect."""
    return cast("Effect", _load(Effect, stored))


def load_note(stored: str | Tree) -> Note:
    """Read a stored note."""
    return cast("Note", _load(Note, stored))


def decode_plan(tree: Json) -> Plan:
    return cast("Plan", decode(Plan, tree, "plan"))


def decode_event(tree: Json) -> Event:
    return cast("Event", decode(Event, tree, "event"))


def encode(value: object, blobs: dict[str, Json] | None = None) -> Json:
    """The stored form, as parsed JSON.

    :param blobs: gets the Base64 of each blob by its digest, which then stands in its place
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Transcript():
            # With a provider's form or a shortened history, an object that has those too.
            messages: Json = [encode(message, blobs) for message in value.messages]
            if value.form == Form() and value.kept is None:
                return messages
            kept = None if value.kept is None else [encode(message, blobs) for message in value.kept]
            return {"messages": messages, "form": encode(value.form), "kept": kept}
        case tuple():
            return [encode(item, blobs) for item in value]
        case PMap():  # sorted, since its own order depends on the hash seed
            return {key: encode(value[key], blobs) for key in sorted(value)}
        case Blob():
            stored: Tree = {"base64": value.base64}
            if blobs is not None:
                blobs[value.digest] = value.base64
                stored = {"digest": value.digest}
            return {"type": type_name(Blob), "media_type": value.media_type, **stored}
        case _ if is_dataclass(value):
            kind: Any = type(value)
            given = [(item, getattr(value, item.name)) for item, _ in stored_fields(kind)]
            changed = {item.name: encode(part, blobs) for item, part in given if part != item.default}
            return {"type": type_name(kind), **changed}
        case _:
            raise CodecError(f"{value!r} has no stored form")


def _load(kind: object, stored: str | Tree) -> object:
    tree: Json | CodecError = stored
    if isinstance(stored, str):
        tree = value_or_failure(read_json(stored).alt(lambda why: CodecError(f"not a stored value: {why}")))
    match tree:
        case CodecError():
            raise tree
        case {"toolreel": version, "value": value, **foreign}:
            if type(version) is not int or version != CODEC_VERSION:
                raise CodecError(
                    f"stored in version {version!r}; this toolreel reads version {CODEC_VERSION}: "
                    "load it with the release that stored it"
                )
            blobs = foreign.pop("blobs", None)
            if foreign:
                raise CodecError(f"{', '.join(map(str, foreign))} is unknown to this version")
            if blobs is not None:
                if not isinstance(blobs, Mapping):
                    raise codec_error("blobs", "an object", cast("Json", blobs))
                checked = {name: check_blob(name, base64, f"blobs.{name}") for name, base64 in blobs.items()}
                value = restore_blobs(value, checked, "value")
            return decode(kind, value, "value")
        case _:
            raise CodecError("not a stored value: expected an object with 'toolreel' and 'value'")


def type_name(kind: type) -> str:
    """The name under which values of a class are stored."""
    # An underscore before each capital but the first.
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def decode(kind: object, tree: Json, place: str) -> object:
    """Read an encoded value of an annotation; errors begin with ``place``."""
    # Special cases come first: both are classes that the general rules below would read field by field.
    if kind is Transcript:
        return _decode_transcript(tree, place)
    if kind is JsonText:
        # Digests and fingerprints cover the text, so another spelling of the same JSON is a damaged record.
        text = value_or_failure(read_json(tree).map(canonical)) if isinstance(tree, str) else None
        if not isinstance(text, JsonText) or text != tree:
            raise codec_error(place, "canonical JSON text", tree)
        return text
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return _decode_union(arguments, tree, place)
    if origin is Literal:
        if tree not in arguments:
            raise codec_error(place, f"one of {', '.join(arguments)}", tree)
        return tree
    if origin is tuple:
        if isinstance(tree, str) or not isinstance(tree, Sequence):
            raise codec_error(place, "a list", tree)
        return tuple([decode(arguments[0], item, f"{place}[{at}]") for at, item in enumerate(tree)])
    if origin is PMap:
        if not isinstance(tree, Mapping):
            raise codec_error(place, "an object", tree)
        return pmap({key: decode(arguments[1], item, f"{place}.{key}") for key, item in tree.items()})
    if is_dataclass(kind):
        return _decode_dataclass(kind, tree, place)
    # type(), since True is an instance of int. JSON has one kind of number, so an int passes as a float.
    scalar, given = cast("type[object]", kind), type(tree)
    if given is not scalar and not (scalar is float and given is int):
        raise codec_error(place, scalar.__name__, tree)
    return tree


def _decode_transcript(tree: Json, place: str) -> Transcript:
    kind = tuple[Message, ...]
    if not isinstance(tree, Mapping):
        return Transcript.of(cast("tuple[Message, ...]", decode(kind, tree, place)))
    kinds = {"messages": kind, "kept": kind | None, "form": Form}
    if tree.keys() != kinds.keys():
        raise codec_error(place, "a list, or an object of messages, form and kept", tree)
    parts: Any = {key: decode(each, tree[key], f"{place}.{key}") for key, each in kinds.items()}
    try:
        return Transcript.of(**parts)
    except ConfigError as error:
        raise CodecError(f"{place}.form: {error}") from error


def _decode_union(kinds: tuple[Any, ...], tree: Json, place: str) -> object:
    classes = {type_name(kind): kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)}
    if classes and isinstance(tree, Mapping):
        kind = classes.get(str(tree.get("type")))
        if kind is None:
            raise codec_error(f"{place}.type", f"one of {', '.join(classes)}", tree.get("type"))
        return decode(kind, tree, place)
    # No union of a stored field has two scalars, so the first that is not None is the only one.
    plain = [kind for kind in kinds if not is_dataclass(kind)]
    for kind in plain:
        if (kind is NoneType) == (tree is None):
            return None if tree is None else decode(kind, tree, place)
    raise codec_error(place, " or ".join([*classes, *(kind.__name__ for kind in plain)]), tree)


@cache
def stored_fields(kind: Any) -> tuple[tuple[Field[Any], object], ...]:  # noqa: ANN401 - a dataclass
    """The fields of a class that are stored, each with its annotation."""
    hints = get_type_hints(kind)
    stored = [item for item in fields(kind) if item.init and item.metadata.get("stored", True)]
    return tuple((item, hints[item.name]) for item in stored)


def _decode_dataclass(kind: Any, tree: Json, place: str) -> object:  # noqa: ANN401 - a dataclass
    if not isinstance(tree, Mapping) or tree.get("type") != type_name(kind):
        raise codec_error(place, f"an object of type {type_name(kind)}", tree)
    stored, values = stored_fields(kind), dict[str, object]()
    required = {item.name for item, _ in stored if item.default is MISSING}
    if missing := sorted(required - tree.keys()):
        raise CodecError(f"{place}.{missing[0]}: is missing")
    if foreign := sorted(tree.keys() - {"type", *(item.name for item, _ in stored)}):
        raise CodecError(f"{place}.{foreign[0]}: is unknown to this version")
    for item, hint in stored:
        if item.name in tree:
            values[item.name] = decode(hint, tree[item.name], f"{place}.{item.name}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise CodecError(f"{place}: {error}") from error


def codec_error(place: str, expected: str, tree: Json) -> CodecError:
    """What is wrong with a stored value, which is told up to 80 characters of it."""
    text = canonical(tree)
    return CodecError(f"{place}: expected {expected}, got {text if len(text) <= 80 else text[:80] + '…'}")


# The lines of a journal, which is the complete record of a run: its plan, then each event.
#
# The first line has version, digest and plan; each other line is an event: ``{"n", "kind", "fp", "event"}``.
# ``kind`` and ``fp`` are the kind and the fingerprint of the effect that it answers. Images, audio and files
# are in lines of their own, ``{"blob", "base64"}``, each once and before the first event that has it (those
# of the plan follow the first line); other lines have their digest.


def header_line(plan: Plan) -> str:
    """The first line of a journal, without a line break."""
    return canonical({"toolreel_journal": CODEC_VERSION, "digest": plan.digest, "plan": encode(plan, {})})


def event_line(n: int, effect: Unanswered | None, event: Event) -> str:
    kind, fp = type_name(type(event)), None
    if effect is not None and isinstance(event, ANSWERS[type(effect)]):
        kind, fp = type_name(type(effect)), fingerprint(effect)
    return canonical({"n": n, "kind": kind, "fp": fp, "event": encode(event, {})})


def blob_lines(value: Plan | Event, written: Container[str] = ()) -> dict[str, str]:
    """The lines with the blobs of a plan or an event, by digest.

    :param written: the digests that the journal has already
    """
    lines: dict[str, str] = {}
    for blob in blobs_in(value):
        if blob.digest not in written and blob.digest not in lines:
            lines[blob.digest] = canonical({"blob": blob.digest, "base64": blob.base64})
    return lines


# Seals for stored values that travel: a keyed digest (HMAC-SHA-256) shows whether anybody else wrote them.
#
# A state has everything that a run trusts: the tools, which of them need approval, and the running call.
# Anyone who can write a stored state can therefore run any tool of the host with any arguments. Seal states
# that leave your own storage, such as those in a form, a URL, a message queue or a store that others can
# write.


SEAL_VERSION = 1
# Bytes: 128 bits, too many to try all keys.
_SHORTEST = 16


def seal(text: str, key: bytes, *, about: str = "") -> JsonText:
    """A stored value with a seal, which :func:`unseal` checks.

    >>> key = bytes(range(32))
    >>> unseal(seal("a state", key, about="run 7"), key, about="run 7")
    'a state'

    :param text: what ``dump`` returned
    :param key: at least 16 bytes, random, known only to those who may write states
    :param about: what the value belongs to, such as the id of a job or a user; it is not stored
    :raises ConfigError: if the key is too short, or a text holds a lone surrogate
    """
    return canonical({"toolreel_seal": SEAL_VERSION, "hmac": _seal_digest(text, key, about), "sealed": text})


def unseal(sealed: str, key: bytes, *, about: str = "") -> str:
    """The text that was sealed, for ``load_state``.

    A seal does not show whether a value is the latest: an older state of the same run has a valid seal, too.
    Compare a counter of your own, or name it in ``about``, if that matters.

    :raises CodecError: if it was changed, or was sealed with another key or about something else
    :raises ConfigError: if the key is too short, or ``about`` holds a lone surrogate
    """
    match read_json(sealed).value_or(None):
        case {"toolreel_seal": int() as version, "hmac": str() as mac, "sealed": str() as text}:
            if version != SEAL_VERSION:
                raise CodecError(f"sealed in version {version}; this toolreel reads version {SEAL_VERSION}")
            # As bytes: compare_digest() raises TypeError on texts that are not ASCII.
            if not hmac.compare_digest(mac.encode(), _seal_digest(text, key, about).encode()):
                raise CodecError(
                    "the seal does not fit: the value was changed, or sealed with another key or `about`"
                )
            return text
        case _:
            raise CodecError("not a sealed value: expected an object with toolreel_seal, hmac and sealed")


def _seal_digest(text: str, key: bytes, about: str) -> str:
    if type(key) is not bytes or len(key) < _SHORTEST:
        raise ConfigError(
            f"key: expected at least {_SHORTEST} random bytes, for example secrets.token_bytes(32)"
        )
    json_text(about, "about")
    json_text(text, "text")
    # Canonical JSON of the parts, so that no text can be moved from one part to another.
    parts = canonical(["toolreel_seal", SEAL_VERSION, about, text])
    return hmac.new(key, parts.encode(), "sha256").hexdigest()
