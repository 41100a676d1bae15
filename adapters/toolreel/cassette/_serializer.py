"""The text of a cassette, as a serializer of vcrpy: ``serialize`` and ``deserialize`` use its dictionary.

In the file, bodies are trees and each message of a conversation is written once
(:mod:`~toolreel.cassette._bodies`); repeated values such as ``tools`` are aliases. ``toolreel: 1`` is
the version of this format, ``version: 1`` that of vcrpy's, and ``...`` at the end marks a complete file. A
failed exchange has an ``error`` (:mod:`~toolreel.cassette._stored_exchange`). Rules and frozen values are
in the header (:mod:`~toolreel.cassette._header`).

Files are untrusted: their structure is checked, and each error names the interaction and the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from toolreel._internal import CassetteError, check_version
from toolreel.cassette._bodies import Body, BodyReader, BodyWriter, resolved
from toolreel.cassette._header import KEYS, Header, header_of
from toolreel.cassette._stored_exchange import CANCELLED, CLOSED, KINDS, is_unanswered, unanswered
from toolreel.cassette._yaml import BLOB_TAG, dump_yaml, load_yaml
from toolreel_core._jsontext import JsonText

VERSION: Final = 1
"""The version of the format; a file of another one is rejected."""

_VCR_VERSION: Final = 1
_Kind = TypeVar("_Kind")
_Form = TypeVar("_Form", bound=Body)
_RERECORD: Final = "record the session again"
_NO_HEADER: Final = Header()


def serialize(cassette_dict: Mapping[str, Any]) -> str:
    """The text of a cassette in vcrpy's form, checked to read back the same.

    ``None`` equals an empty body, and a text equals the bytes of its UTF-8.

    :param cassette_dict: vcrpy's dictionary; ours also has the :class:`Header` under ``header``
    :raises CassetteError: if the cassette has another form, or would not read back the same
    """
    cassette = _mapping(cassette_dict, "the cassette", {"version", "interactions"}, {"header"})
    header: Header = cassette.get("header", _NO_HEADER)
    plain = [_plain(entry, n) for n, entry in enumerate(cassette["interactions"], 1)]
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
    header_read, read = _deserialized(text)
    if header_read != header:
        raise CassetteError("the header does not come back from YAML as it was; nothing was written")
    back = [_plain(entry, n) for n, entry in enumerate(read, 1)]
    for n, (before, after) in enumerate(zip(plain, back, strict=True), 1):
        if before != after:
            raise CassetteError(
                f"interaction {n}: does not come back from YAML as it was; nothing was written. "
                "This is a defect of toolreel: please report it with this interaction"
            )
    return text


def deserialize(cassette_string: str) -> dict[str, Any]:
    """The cassette in a text, in vcrpy's form; bodies are texts if they are UTF-8.

    :raises CassetteError: if the text is not one that :func:`serialize` can write
    """
    return {"version": _VCR_VERSION, "interactions": _deserialized(cassette_string)[1]}


def _deserialized(text: str) -> tuple[Header, list[dict[str, Any]]]:
    """The header and the interactions, with each body in one piece."""
    header, read = document(text)
    for entry in read:
        request = entry["request"]
        if isinstance(request["body"], tuple):
            request["body"] = JsonText(b"".join(request["body"]).decode())
    return header, read


def document(cassette_string: str) -> tuple[Header, list[dict[str, Any]]]:
    """The header and the interactions in a text, in vcrpy's form, with bodies of conversations in pieces.

    :raises CassetteError: as :func:`deserialize` does
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


def _plain(entry: object, number: int) -> dict[str, Any]:
    """An interaction of vcrpy in the form that is compared and written: bodies are bytes."""
    place = f"interaction {number}"
    parts = _mapping(entry, place, {"request", "response"})
    request = _mapping(parts["request"], f"{place}: request", {"method", "uri", "headers", "body"})
    response = _mapping(parts["response"], f"{place}: response", {"status", "headers", "body"}, {"error"})
    body = _mapping(response["body"], f"{place}: response.body", {"string"})
    return {
        "request": {
            "method": request["method"],
            "uri": request["uri"],
            "headers": _listed(request["headers"]),
            "body": _encoded(request["body"], f"{place}: request.body"),
        },
        "response": {
            "status": dict(response["status"]),
            "headers": _listed(response["headers"]),
            "body": _encoded(body["string"], f"{place}: response.body"),
            **_error(response, place),
        },
    }


def _listed(headers: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    return {name: [value] if isinstance(value, str) else list(value) for name, value in headers.items()}


def _encoded(body: str | bytes | None, place: str) -> bytes:
    try:
        return body.encode() if isinstance(body, str) else body or b""
    except UnicodeEncodeError as error:
        raise CassetteError(f"{place}: {error.reason}: the text cannot have been a body") from error


def _written(entry: Mapping[str, Any], writer: BodyWriter, index: int) -> dict[str, Any]:
    """An interaction as it is written; an empty body is omitted."""
    request, response = dict(entry["request"]), dict(entry["response"])
    if request.pop("body"):
        request["body"] = writer.request(index)
    if body := response.pop("body"):
        response["body"] = writer.response(body)
    error = {"error": response.pop("error")} if "error" in response else {}
    if is_unanswered({**entry["response"], "body": {"string": body}}):
        return {"request": request, **error}
    return {"request": request, "response": response, **error}


def _read(entry: object, reader: BodyReader, place: str) -> dict[str, Any]:
    parts = _mapping(entry, place, {"request"}, {"response", "error"})
    error = _error(parts, place)
    if "response" not in parts and not error:
        raise CassetteError(f"{place}: the key 'response' is missing: {_RERECORD}")
    response = _read_response(parts["response"], reader, place) if "response" in parts else {}
    return {
        "request": _read_request(parts["request"], reader, place),
        "response": {**response, **error} if response else unanswered(error["error"]),
    }


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
        "body": {"string": _body(response, reader.response, f"{place}: response") or ""},
    }


def _error(part: Mapping[str, Any], place: str) -> dict[str, dict[str, str]]:
    """The ``error`` of a failed exchange under its key; empty for others."""
    if "error" not in part:
        return {}
    error = _mapping(part["error"], f"{place}: error", {"kind", "message"})
    failure = {key: _typed(error[key], str, f"{place}: error.{key}") for key in ("kind", "message")}
    if failure["kind"] not in (*KINDS, CLOSED, CANCELLED):
        raise CassetteError(
            f"{place}: error.kind: expected the name of an httpx.TransportError, found {failure['kind']!r}: "
            f"{_RERECORD}"
        )
    return {"error": failure}


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
