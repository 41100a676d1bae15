"""Read cassettes of stock vcrpy, in YAML or JSON, as untrusted input.

=====================  ========================================================================
a file may have        we read
=====================  ========================================================================
bodies                 text, ``!!binary``, ``{string: ...}``, ``{base64_string: ...}``, nothing
headers                lists or single values
responses              ``status: {code, message}``, or ``status_code`` and ``content`` as older
                       releases wrote them for httpx
``!!python/...`` tags  rejected: they stand for code
anything else          its key is reported, and it is left out
=====================  ========================================================================
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolreel._internal.errors import CassetteError
from toolreel.cassette._format.yaml import load_yaml
from toolreel.cassette._stored_exchange import StoredResponse

_LIMIT: Final = 256 * 2**20
_PYTHON_TAG: Final = "!!python/"
_PYTHON_ADDRESS: Final = "tag:yaml.org,2002:python/"


@dataclass(frozen=True, slots=True)
class StockInteraction:
    """A request and its response."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    response: StoredResponse
    """As sent over the network, or as decoded by vcrpy."""
    unknown: tuple[str, ...]
    """Keys that we do not know."""


@dataclass(frozen=True, slots=True)
class StockTape:
    """The content of a file."""

    interactions: tuple[StockInteraction, ...]
    unknown: tuple[str, ...]
    """Keys that we do not know, such as ``metadata``."""


def looks_like_stock(path: Path) -> bool:
    """Whether a file could be a cassette of stock vcrpy, from its first kilobytes."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b"interactions" in head and not head.lstrip().startswith(b"toolreel:")


def read_stock(path: Path) -> StockTape:
    """The interactions in a file.

    :raises CassetteError: if it is not a valid cassette of stock vcrpy; names the place
    """
    try:
        return _tape(_tree(path))
    except CassetteError as error:
        raise CassetteError(f"{path}: {error}") from error


def _tree(path: Path) -> object:
    try:
        if path.stat().st_size > _LIMIT:
            raise CassetteError(f"larger than {_LIMIT} bytes")
        text = path.read_bytes().decode()
    except OSError as error:
        raise CassetteError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CassetteError(f"not UTF-8 at byte {error.start}") from None
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CassetteError(f"not JSON: {error}") from None
    try:
        return load_yaml(text, whole=False)
    except CassetteError as error:
        if _PYTHON_TAG in str(error) or _PYTHON_ADDRESS in str(error):
            raise CassetteError(
                "has a tag '!!python/...', which stands for code and is never obeyed: record it again, or "
                "write the value that is meant in its place"
            ) from None
        raise


def _tape(tree: object) -> StockTape:
    if isinstance(tree, list):
        raise CassetteError("was written by vcrpy before 1.0: run `python -m vcr.migration` on a copy first")
    if not isinstance(tree, dict) or not isinstance(tree.get("interactions"), list):
        raise CassetteError("no cassette of vcrpy: there is no list 'interactions'")
    if "toolreel" in tree:
        raise CassetteError("is a cassette of toolreel already: there is nothing to import")
    if tree.get("version") != 1:
        raise CassetteError(f"of version {tree.get('version')!r}; expected 1, which vcrpy writes since 1.0")
    entries = tree["interactions"]
    interactions = tuple(stock_interaction(entry, f"interaction {n}") for n, entry in enumerate(entries, 1))
    return StockTape(interactions, tuple(sorted(tree.keys() - {"interactions", "version"})))


def stock_interaction(entry: object, place: str) -> StockInteraction:
    """One entry of the list ``interactions``.

    :raises CassetteError: if it has another shape
    """
    parts = _mapping(entry, place)
    request = _mapping(parts.get("request"), f"{place}: request")
    response = _mapping(parts.get("response"), f"{place}: response")
    unknown = [
        *(parts.keys() - {"request", "response"}),
        *(f"request.{key}" for key in request.keys() - {"method", "uri", "headers", "body"}),
        *(
            f"response.{key}"
            for key in response.keys() - {"status", "status_code", "headers", "body", "content"}
        ),
    ]
    return StockInteraction(
        _text(request.get("method"), f"{place}: request.method"),
        _text(request.get("uri"), f"{place}: request.uri"),
        tuple(_headers(request.get("headers"), f"{place}: request.headers")),
        _body(request.get("body"), f"{place}: request.body"),
        _response(response, f"{place}: response"),
        tuple(sorted(unknown)),
    )


def _response(response: Mapping[str, Any], place: str) -> StoredResponse:
    headers = tuple(_headers(response.get("headers"), f"{place}.headers"))
    if "status_code" in response:
        body = _body(response.get("content"), f"{place}.content")
        return StoredResponse(_code(response["status_code"], f"{place}.status_code"), "", headers, body)
    status = _mapping(response.get("status"), f"{place}.status")
    code = _code(status.get("code"), f"{place}.status.code")
    reason = status.get("message") or ""
    body = _body(response.get("body"), f"{place}.body")
    return StoredResponse(code, _text(reason, f"{place}.status.message"), headers, body)


def _body(body: object, place: str) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            try:
                return body.encode()
            except UnicodeEncodeError as error:
                raise CassetteError(f"{place}: {error.reason}: the text cannot have been a body") from None
        case {"string": inner}:
            return _body(inner, place)
        case {"base64_string": str() as text}:
            try:
                return base64.b64decode(text)
            except binascii.Error as error:
                raise CassetteError(f"{place}: {error}") from None
        case {}:
            return b""
        case _:
            raise CassetteError(f"{place}: expected a text, !!binary or nothing, found {type(body).__name__}")


def _headers(headers: object, place: str) -> Iterator[tuple[str, str]]:
    for name, values in _mapping({} if headers is None else headers, place).items():
        for value in values if isinstance(values, list) else [values]:
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            yield name.lower(), _text(text, f"{place}.{name}")


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CassetteError(f"{place}: expected a mapping, found {type(value).__name__}")
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise CassetteError(f"{place}: expected a text, found {type(value).__name__}")
    return value


def _code(value: object, place: str) -> int:
    if not isinstance(value, int):
        raise CassetteError(f"{place}: expected a number, found {type(value).__name__}")
    return value
