"""Convert cassettes of stock vcrpy to ours, and ours to those of stock vcrpy.

Cassettes of stock vcrpy are untrusted input:

=====================  ========================================================================
a file may have        we read
=====================  ========================================================================
bodies                 text, ``!!binary``, ``{string: ...}``, nothing
headers                lists or single values
responses              ``status: {code, message}``, or ``status_code`` and ``content`` as older
                       releases wrote them for httpx
``!!python/...`` tags  rejected: they stand for code
anything else          its key is reported, and it is left out
=====================  ========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from vcr.serializers import compat, yamlserializer

from toolreel._internal import CassetteError
from toolreel._secrets import known_secrets
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._serializer import Header, cassette_text, read_cassette, replace_file
from toolreel.cassette._stored_exchange import REQUEST_HEADERS, Exchange, StoredResponse, by_name, is_stored
from toolreel.cassette._transports import BODY_LIMIT
from toolreel.cassette._yaml import load_yaml
from toolreel.http import BodyError, BoundedDecoder

_LIMIT: Final = 256 * 2**20
_PYTHON_TAG: Final = "!!python/"
_PYTHON_ADDRESS: Final = "tag:yaml.org,2002:python/"


def looks_like_stock(path: Path) -> bool:
    """Whether a file could be a cassette of stock vcrpy, from its first kilobytes."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b"interactions" in head and not head.lstrip().startswith(b"toolreel:")


def _parse_file(path: Path) -> object:
    try:
        if path.stat().st_size > _LIMIT:
            raise CassetteError(f"larger than {_LIMIT} bytes")
        text = path.read_bytes().decode()
    except OSError as error:
        raise CassetteError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CassetteError(f"not UTF-8 at byte {error.start}") from None
    try:
        return load_yaml(text, whole=False)
    except CassetteError as error:
        if _PYTHON_TAG in str(error) or _PYTHON_ADDRESS in str(error):
            raise CassetteError(
                "has a tag '!!python/...', which stands for code and is never obeyed: record it again, or "
                "write the value that is meant in its place"
            ) from None
        raise


def _read_exchanges(tree: object) -> tuple[list[Exchange], set[str]]:
    """The exchanges in a file, with all of their headers, and the keys that we do not know."""
    if isinstance(tree, list):
        raise CassetteError("was written by vcrpy before 1.0: run `python -m vcr.migration` on a copy first")
    if not isinstance(tree, dict) or not isinstance(tree.get("interactions"), list):
        raise CassetteError("no cassette of vcrpy: there is no list 'interactions'")
    if "toolreel" in tree:
        raise CassetteError("is a cassette of toolreel already: there is nothing to import")
    if tree.get("version") != 1:
        raise CassetteError(f"of version {tree.get('version')!r}; expected 1, which vcrpy writes since 1.0")
    unknown = tree.keys() - {"interactions", "version"}
    return [_read_exchange(entry, n, unknown) for n, entry in enumerate(tree["interactions"], 1)], unknown


_KNOWN: Final = {
    "request": {"method", "uri", "headers", "body"},
    "response": {"status", "status_code", "headers", "body", "content"},
}


def _read_exchange(entry: Any, number: int, unknown: set[str]) -> Exchange:
    """One entry of the list ``interactions``; keys that we do not know are added to a set."""
    place = f"interaction {number}"
    match entry:
        case {
            "request": {"method": str() as method, "uri": str() as uri},
            "response": {"status": {"code": int() as code, **rest}},
        }:
            reason, content = str(rest.get("message") or ""), "body"
        case {
            "request": {"method": str() as method, "uri": str() as uri},
            "response": {"status_code": int() as code},
        }:
            reason, content = "", "content"
        case _:
            raise CassetteError(
                f"{place}: expected a request with method and uri, and a response with a status and its code"
            )
    request, response = entry["request"], entry["response"]
    unknown |= entry.keys() - _KNOWN.keys()
    unknown |= {f"{part}.{key}" for part, known in _KNOWN.items() for key in entry[part].keys() - known}
    headers = tuple(_read_headers(response.get("headers"), f"{place}: response.headers"))
    body = _read_body(response.get(content), f"{place}: response.{content}")
    return Exchange(
        number,
        method,
        uri,
        by_name(_read_headers(request.get("headers"), f"{place}: request.headers")),
        (_read_body(request.get("body"), f"{place}: request.body"),),
        decoded(StoredResponse(code, reason, headers, body)),
    )


def _read_body(body: object, place: str) -> bytes:
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
        case {**parts}:
            return _read_body(parts.get("string"), place)
        case _:
            raise CassetteError(f"{place}: expected a text, !!binary or nothing, found {type(body).__name__}")


def _read_headers(headers: object, place: str) -> Iterator[tuple[str, str]]:
    if headers is not None and not isinstance(headers, dict):
        raise CassetteError(f"{place}: expected a mapping, found {type(headers).__name__}")
    for name, values in (headers or {}).items():
        for value in values if isinstance(values, list) else [values]:
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            if not isinstance(text, str):
                raise CassetteError(f"{place}.{name}: expected a text, found {type(text).__name__}")
            yield name.lower(), text


@dataclass(frozen=True, slots=True)
class Converted:
    """The result for one file."""

    source: Path
    target: Path
    interactions: int
    left_out: tuple[str, ...]
    """What the target cannot hold. Of an import, the names of headers and of unknown keys; of an export, the
    exchanges that failed, which vcrpy cannot play, each with its exception."""


def import_cassette(
    source: Path | str,
    target: Path | str,
    *,
    overwrite: bool = False,
    known: Mapping[str, str] | None = None,
) -> Converted:
    """Convert a cassette of stock vcrpy to one of ours, with all requests and responses.

    Bodies are decompressed, otherwise unchanged; headers that our cassettes do not store are dropped.

    :param known: secret values by name; by default, those in the environment variables
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read or is invalid, or the target exists
    """
    source, target = Path(source), Path(target)
    _check_free(target, overwrite=overwrite)
    try:
        exchanges, unknown = _read_exchanges(_parse_file(source))
    except CassetteError as error:
        raise CassetteError(f"{source}: {error}") from error
    new = Recording.blank(target)
    for one in exchanges:
        headers = {name: values[-1] for name, values in one.headers.items()}
        new.append(one.method, one.url, headers, one.body, one.answer)
    new.save(known)
    return Converted(source, target, len(exchanges), _losses(exchanges, unknown))


def _check_free(target: Path, *, overwrite: bool) -> None:
    if os.path.lexists(target) and not overwrite:
        raise CassetteError(f"{target}: exists already: take another name, or overwrite it (--overwrite)")


def decoded(response: StoredResponse) -> StoredResponse:
    """The response as a client sees it; vcrpy may leave the encoding header on a decoded body."""
    encodings = [value for name, value in response.headers if name == "content-encoding"]
    if not encodings:
        return response
    headers = tuple((name, value) for name, value in response.headers if name != "content-encoding")
    try:
        decoder = BoundedDecoder(", ".join(encodings), BODY_LIMIT)
        decoder.feed(response.body)
        return replace(response, headers=headers, body=decoder.finish())
    except BodyError:
        pass
    try:
        response.body.decode()
    except UnicodeDecodeError:
        return response
    return replace(response, headers=headers)


def _losses(exchanges: Iterable[Exchange], unknown: Iterable[str]) -> tuple[str, ...]:
    left = {*unknown}
    for one in exchanges:
        left |= {f"request header {name}" for name in one.headers if name not in REQUEST_HEADERS}
        if isinstance(one.answer, StoredResponse):
            left |= {f"response header {name}" for name, _ in one.answer.headers if not is_stored(name)}
    return tuple(sorted(left))


def export_cassette(
    source: Path | str,
    target: Path | str,
    *,
    overwrite: bool = False,
    known: Mapping[str, str] | None = None,
) -> Converted:
    """Convert a cassette of ours to one of stock vcrpy; importing it gives the same again.

    Exchanges that failed are left out, since vcrpy cannot play them; it plays each stream in one piece.

    :param known: secret values by name; by default, those in the environment variables
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read, or the target exists
    """
    source, target = Path(source), Path(target)
    _check_free(target, overwrite=overwrite)
    header, exchanges = read_cassette(source)
    whole = [one for one in exchanges if not one.broke]
    known = known_secrets(os.environ) if known is None else known
    try:
        text = cassette_text(header, whole, known, _stock_text)
    except CassetteError as error:
        raise type(error)(f"{target}: {error}") from error
    replace_file(target, text.encode())
    broken = tuple(f"{one.name} ({one.broke.kind})" for one in exchanges if one.broke)
    return Converted(source, target, len(whole), broken)


def _stock_text(_header: Header, exchanges: Sequence[Exchange]) -> str:
    """The text as stock vcrpy writes it, with texts instead of bytes."""
    entries = []
    for one in exchanges:
        assert isinstance(one.answer, StoredResponse)  # noqa: S101 - what broke off was left out
        request = {"method": one.method, "uri": one.url, "body": one.body, "headers": dict(one.headers)}
        response = {
            "status": {"code": one.answer.status, "message": one.answer.reason},
            "headers": by_name(one.answer.headers),
            "body": {"string": one.answer.body},
        }
        entries.append(
            {"request": compat.convert_to_unicode(request), "response": compat.convert_to_unicode(response)}
        )
    text: str = yamlserializer.serialize({"version": 1, "interactions": entries})
    return text
