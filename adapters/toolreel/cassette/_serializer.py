"""The text of a cassette: its header and its interactions, written and read.

In the file, bodies are trees and each message of a conversation is written once
(:mod:`~toolreel.cassette._bodies`); repeated values such as ``tools`` are aliases. ``toolreel: 1`` is
the version of this format, ``version: 1`` that of vcrpy's, and ``...`` at the end marks a complete
file. A failed exchange has an ``error``
(:mod:`~toolreel.cassette._stored_exchange`). Rules and frozen values are in the header
(:mod:`~toolreel.cassette._header`).

Files are untrusted: their structure is checked, and each error names the interaction and the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from toolreel._internal import CassetteError, check_version
from toolreel.cassette._bodies import Body, BodyReader, BodyWriter, resolved
from toolreel.cassette._header import KEYS, Header, header_of
from toolreel.cassette._stored_exchange import CANCELLED, CLOSED, KINDS
from toolreel.cassette._yaml import BLOB_TAG, dump_yaml, load_yaml

VERSION: Final = 1
"""The version of the format; a file of another one is rejected."""

_VCR_VERSION: Final = 1
_Kind = TypeVar("_Kind")
_Form = TypeVar("_Form", bound=Body)
_RERECORD: Final = "record the session again"

Interaction: TypeAlias = dict[str, Any]
"""A ``request`` (method, uri, headers, body), its ``response`` (status, headers, body), and its ``error``."""


def serialize(header: Header, interactions: Sequence[Interaction]) -> str:
    """The text of a cassette, checked to read back the same.

    :raises CassetteError: if it would not
    """
    plain = [_plain(entry) for entry in interactions]
    writer = BodyWriter()
    for interaction in plain:
        writer.announce(interaction["request"]["body"])
    tree = {
        "toolreel": VERSION,
        "version": _VCR_VERSION,
        **header.stored,
        "interactions": [_written(entry, writer, n) for n, entry in enumerate(plain)],
        **({"blobs": writer.blobs} if writer.blobs else {}),
    }
    text = dump_yaml(tree, writer.anchors())
    header_read, read = document(text)
    if header_read != header:
        raise CassetteError("the header does not come back from YAML as it was; nothing was written")
    for n, (before, after) in enumerate(zip(plain, map(_plain, read), strict=True), 1):
        if before != after:
            raise CassetteError(
                f"interaction {n}: does not come back from YAML as it was; nothing was written. "
                "This is a defect of toolreel: please report it with this interaction"
            )
    return text


def in_one_piece(entry: Interaction) -> Interaction:
    """The interaction with its request's body as bytes."""
    request = entry["request"]
    return {**entry, "request": {**request, "body": as_bytes(request["body"])}}


def as_bytes(body: Body | None) -> bytes:
    """A body in one piece."""
    if isinstance(body, tuple):
        return b"".join(body)
    return body.encode() if isinstance(body, str) else body or b""


def document(cassette_string: str) -> tuple[Header, list[Interaction]]:
    """The header and the interactions in a text, with bodies of conversations in pieces.

    :raises CassetteError: if the text is not one that :func:`serialize` can write
    """
    tree = _tree(cassette_string)
    if "blobs" in tree or BLOB_TAG in cassette_string:
        resolved(tree["interactions"], tree.get("blobs", {}))
    reader = BodyReader()
    entries = _typed(tree["interactions"], list, "interactions")
    read = [_read(entry, reader, f"interaction {n}") for n, entry in enumerate(entries, 1)]
    return header_of(tree), read


def _tree(cassette_string: str) -> Mapping[str, Any]:
    """The top of a file, checked."""
    tree: Mapping[str, Any] = _typed(load_yaml(cassette_string), dict, "the top of the file")
    if "toolreel" not in tree:
        raise CassetteError(f"the key 'toolreel' is missing, so this is no cassette of toolreel: {_RERECORD}")
    check_version(tree["toolreel"], VERSION, "toolreel: a cassette", _RERECORD, CassetteError)
    if tree.get("version") != _VCR_VERSION:
        known = f"version {tree.get('version')!r} is not known, only {_VCR_VERSION}"
        raise CassetteError(f"version: {known}: {_RERECORD}")
    return _mapping(tree, "the cassette", {"toolreel", "version", "interactions"}, (*KEYS, "blobs"))


def _plain(entry: Interaction) -> Interaction:
    """An interaction in the form that is compared and written: bodies are bytes."""
    whole = in_one_piece(entry)
    if "response" not in entry:
        return whole
    return {**whole, "response": {**entry["response"], "body": as_bytes(entry["response"]["body"])}}


def _written(entry: Interaction, writer: BodyWriter, index: int) -> Interaction:
    """An interaction as it is written; an empty body is omitted."""
    parts: Interaction = {part: dict(tree) for part, tree in entry.items()}
    if parts["request"].pop("body"):
        parts["request"]["body"] = writer.request(index)
    if body := parts.get("response", {}).pop("body", b""):
        parts["response"]["body"] = writer.response(body)
    return parts


def _read(entry: object, reader: BodyReader, place: str) -> Interaction:
    parts = _mapping(entry, place, {"request"}, {"response", "error"})
    if not parts.keys() & {"response", "error"}:
        raise CassetteError(f"{place}: the key 'response' is missing: {_RERECORD}")
    read = {"request": _read_request(parts["request"], reader, place)}
    if "response" in parts:
        read["response"] = _read_response(parts["response"], reader, place)
    if "error" in parts:
        read["error"] = _error(parts["error"], f"{place}: error")
    return read


def _read_request(part: object, reader: BodyReader, place: str) -> dict[str, Any]:
    request = _mapping(part, f"{place}: request", {"method", "uri", "headers"}, {"body"})
    return {
        "method": _typed(request["method"], str, f"{place}: request.method"),
        "uri": _typed(request["uri"], str, f"{place}: request.uri"),
        "body": _body(request, reader.request, f"{place}: request"),
        "headers": _headers(request["headers"], f"{place}: request.headers"),
    }


def _read_response(part: object, reader: BodyReader, place: str) -> dict[str, Any]:
    response = _mapping(part, f"{place}: response", {"status", "headers"}, {"body"})
    status = _mapping(response["status"], f"{place}: response.status", {"code", "message"})
    return {
        "status": {
            "code": _typed(status["code"], int, f"{place}: response.status.code"),
            "message": _typed(status["message"], str, f"{place}: response.status.message"),
        },
        "headers": _headers(response["headers"], f"{place}: response.headers"),
        "body": as_bytes(_body(response, reader.response, f"{place}: response")),
    }


def _error(part: object, place: str) -> dict[str, str]:
    """The ``error`` of a failed exchange."""
    error = _mapping(part, place, {"kind", "message"})
    failure = {key: _typed(error[key], str, f"{place}.{key}") for key in ("kind", "message")}
    if failure["kind"] not in (*KINDS, CLOSED, CANCELLED):
        raise CassetteError(
            f"{place}.kind: expected the name of an httpx.TransportError, found {failure['kind']!r}: "
            f"{_RERECORD}"
        )
    return failure


def _body(part: Mapping[str, Any], read: Callable[[dict[str, Any], str], _Form], place: str) -> _Form | None:
    if "body" not in part:
        return None
    return read(_typed(part["body"], dict, f"{place}.body"), f"{place}.body")


def _headers(headers: object, place: str) -> dict[str, list[str]]:
    lists = {
        name: _typed(values, list, f"{place}.{name}") for name, values in _typed(headers, dict, place).items()
    }
    return {
        name: [_typed(value, str, f"{place}.{name}") for value in values] for name, values in lists.items()
    }


def _mapping(
    value: object, place: str, needed: frozenset[str] | set[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Check that a value is a mapping with these keys."""
    mapping = _typed(value, dict, place)
    if mapping.keys() == needed:
        return mapping
    for key in sorted(needed - mapping.keys()):
        raise CassetteError(f"{place}: the key {key!r} is missing: {_RERECORD}")
    for key in sorted(mapping.keys() - needed - {*optional}):
        raise CassetteError(f"{place}: the key {key!r} is not known here: remove it, or {_RERECORD}")
    return mapping


def _typed(value: object, kind: type[_Kind], place: str) -> _Kind:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CassetteError(f"{place}: expected {_NAMES[kind]}, found {type(value).__name__}: {_RERECORD}")
    return value


_NAMES: Final[Mapping[type, str]] = {
    str: "a text (in quotes)",
    int: "a whole number",
    list: "a list",
    dict: "a mapping",
}
