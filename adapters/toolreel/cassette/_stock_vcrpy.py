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
from typing import Any, Final, TypeVar

from toolreel._internal import CassetteError, MissingExtra
from toolreel._secrets import known_secrets, scrubbed_url
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._serializer import Header, cassette_text, read_cassette, replace_file
from toolreel.cassette._stored_exchange import REQUEST_HEADERS, Exchange, StoredResponse, by_name, is_stored
from toolreel.cassette._transports import BODY_LIMIT, is_stream
from toolreel.cassette._yaml import load_yaml
from toolreel.http import BodyError, BoundedDecoder

try:
    from vcr.serializers import compat, yamlserializer
except ImportError as error:
    raise MissingExtra.of("record", "vcrpy") from error


_LIMIT: Final = 256 * 2**20
_PYTHON_TAG: Final = "!!python/"
_PYTHON_ADDRESS: Final = "tag:yaml.org,2002:python/"
_Kind = TypeVar("_Kind")


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


def _read_exchange(entry: object, number: int, unknown: set[str]) -> Exchange:
    """One entry of the list ``interactions``; keys that we do not know are added to a set."""
    place = f"interaction {number}"
    parts = _check(entry, dict, place)
    request = _check(parts.get("request"), dict, f"{place}: request")
    response = _check(parts.get("response"), dict, f"{place}: response")
    unknown |= parts.keys() - {"request", "response"}
    unknown |= {f"request.{key}" for key in request.keys() - {"method", "uri", "headers", "body"}}
    known = {"status", "status_code", "headers", "body", "content"}
    unknown |= {f"response.{key}" for key in response.keys() - known}
    return Exchange(
        number,
        _check(request.get("method"), str, f"{place}: request.method"),
        _check(request.get("uri"), str, f"{place}: request.uri"),
        by_name(_read_headers(request.get("headers"), f"{place}: request.headers")),
        (_read_body(request.get("body"), f"{place}: request.body"),),
        decoded(_read_response(response, f"{place}: response")),
    )


def _read_response(response: Mapping[str, Any], place: str) -> StoredResponse:
    """A response as sent over the network, or as decoded by vcrpy."""
    headers = tuple(_read_headers(response.get("headers"), f"{place}.headers"))
    if "status_code" in response:
        code, reason, body = response["status_code"], "", response.get("content")
    else:
        status = _check(response.get("status"), dict, f"{place}.status")
        code, reason, body = status.get("code"), status.get("message") or "", response.get("body")
    return StoredResponse(
        _check(code, int, f"{place}.status.code"),
        _check(reason, str, f"{place}.status.message"),
        headers,
        _read_body(body, f"{place}.body"),
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
        case {"string": inner}:
            return _read_body(inner, place)
        case {}:
            return b""
        case _:
            raise CassetteError(f"{place}: expected a text, !!binary or nothing, found {type(body).__name__}")


def _read_headers(headers: object, place: str) -> Iterator[tuple[str, str]]:
    for name, values in _check({} if headers is None else headers, dict, place).items():
        for value in values if isinstance(values, list) else [values]:
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            yield name.lower(), _check(text, str, f"{place}.{name}")


def _check(value: object, kind: type[_Kind], place: str) -> _Kind:
    if not isinstance(value, kind):
        names = {dict: "a mapping", str: "a text", int: "a number"}
        raise CassetteError(f"{place}: expected {names[kind]}, found {type(value).__name__}")
    return value


@dataclass(frozen=True, slots=True)
class Imported:
    """The result for one file."""

    source: Path
    target: Path
    interactions: int
    left_out: tuple[str, ...]
    """Names of headers and unknown keys that our cassettes do not store."""
    scrubbed: int
    """The number of URLs in which a user, a password or a key was masked."""


def import_cassette(
    source: Path | str,
    target: Path | str,
    *,
    overwrite: bool = False,
    known: Mapping[str, str] | None = None,
) -> Imported:
    """Convert a cassette of stock vcrpy to one of ours, with all requests and responses.

    Bodies are decompressed, otherwise unchanged; headers that our cassettes do not store are dropped.

    :param known: secret values by name; by default, those in the environment variables
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read or is invalid, or the target exists
    """
    source, target = Path(source), Path(target)
    _check_free(target, "import", overwrite=overwrite)
    try:
        exchanges, unknown = _read_exchanges(_parse_file(source))
    except CassetteError as error:
        raise CassetteError(f"{source}: {error}") from error
    known = known_secrets(os.environ) if known is None else known
    new = Recording.blank(target)
    for one in exchanges:
        headers = {name: values[-1] for name, values in one.headers.items()}
        new.append(one.method, one.url, headers, one.body, one.answer)
    new.save(known)
    return Imported(
        source,
        target,
        len(exchanges),
        _losses(exchanges, unknown),
        sum(scrubbed_url(one.url) != one.url for one in exchanges),
    )


def _check_free(target: Path, verb: str, *, overwrite: bool) -> None:
    if os.path.lexists(target) and not overwrite:
        raise CassetteError(
            f"{target}: exists already: {verb} under another name, or overwrite it (--overwrite)"
        )


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


@dataclass(frozen=True, slots=True)
class Exported:
    """The result for one file."""

    source: Path
    target: Path
    interactions: int
    left_out: tuple[str, ...]
    """Failed exchanges, which vcrpy cannot play: the name and the exception of each."""
    streams: tuple[int, ...]
    """Numbers of the streams in the target; vcrpy plays each in one piece."""


def export_cassette(
    source: Path | str,
    target: Path | str,
    *,
    overwrite: bool = False,
    skip_broken: bool = False,
    known: Mapping[str, str] | None = None,
) -> Exported:
    """Convert a cassette of ours to one of stock vcrpy; importing it gives the same again.

    :param skip_broken: whether failed exchanges are left out; otherwise they are an error
    :param known: secret values by name; by default, those in the environment variables
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read or has failed exchanges, or the target exists
    """
    source, target = Path(source), Path(target)
    _check_free(target, "export", overwrite=overwrite)
    header, exchanges = read_cassette(source)
    broken = [f"{one.name} ({one.broke.kind})" for one in exchanges if one.broke]
    if broken and not skip_broken:
        raise CassetteError(
            f"{source}: {', '.join(broken)} broke off, which vcrpy cannot play: "
            "leave such exchanges out (--skip-broken)"
        )
    whole = [one for one in exchanges if not one.broke]
    known = known_secrets(os.environ) if known is None else known
    try:
        text = cassette_text(header, whole, known, _stock_text)
    except CassetteError as error:
        raise type(error)(f"{target}: {error}") from error
    replace_file(target, text.encode())
    streams = (
        n
        for n, one in enumerate(whole, 1)
        if isinstance(one.answer, StoredResponse) and is_stream(one.answer)
    )
    return Exported(source, target, len(whole), tuple(broken), tuple(streams))


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
