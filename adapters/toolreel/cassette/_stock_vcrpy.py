"""Convert cassettes of stock vcrpy to ours, and ours to those of stock vcrpy.

Cassettes of stock vcrpy, in YAML or JSON, are untrusted input:

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
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from toolreel._internal import CassetteError, MissingExtra, SecretFound
from toolreel._secrets import (
    SecretRules,
    body_texts,
    known_secrets,
    rules_in,
    scrubbed_url,
    secrets_in,
    secrets_sent,
    spellings,
    unseen,
)
from toolreel.cassette._file import CassetteFile
from toolreel.cassette._lookup import endpoint
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._serializer import Header, Interaction
from toolreel.cassette._stored_exchange import (
    REQUEST_HEADERS,
    Break,
    StoredResponse,
    answer_in,
    is_stored,
)
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


def _read_interactions(tree: object) -> tuple[list[StockInteraction], list[str]]:
    """The interactions in a file, and the keys next to them that we do not know, such as ``metadata``."""
    if isinstance(tree, list):
        raise CassetteError("was written by vcrpy before 1.0: run `python -m vcr.migration` on a copy first")
    if not isinstance(tree, dict) or not isinstance(tree.get("interactions"), list):
        raise CassetteError("no cassette of vcrpy: there is no list 'interactions'")
    if "toolreel" in tree:
        raise CassetteError("is a cassette of toolreel already: there is nothing to import")
    if tree.get("version") != 1:
        raise CassetteError(f"of version {tree.get('version')!r}; expected 1, which vcrpy writes since 1.0")
    entries = [
        _read_interaction(entry, f"interaction {n}") for n, entry in enumerate(tree["interactions"], 1)
    ]
    return entries, sorted(tree.keys() - {"interactions", "version"})


def _read_interaction(entry: object, place: str) -> StockInteraction:
    """One entry of the list ``interactions``."""
    parts = _check_mapping(entry, place)
    request = _check_mapping(parts.get("request"), f"{place}: request")
    response = _check_mapping(parts.get("response"), f"{place}: response")
    known = {
        "": (parts, {"request", "response"}),
        "request.": (request, {"method", "uri", "headers", "body"}),
        "response.": (response, {"status", "status_code", "headers", "body", "content"}),
    }
    return StockInteraction(
        _check_text(request.get("method"), f"{place}: request.method"),
        _check_text(request.get("uri"), f"{place}: request.uri"),
        tuple(_read_headers(request.get("headers"), f"{place}: request.headers")),
        _read_body(request.get("body"), f"{place}: request.body"),
        _read_response(response, f"{place}: response"),
        tuple(sorted(f"{at}{key}" for at, (tree, keys) in known.items() for key in tree.keys() - keys)),
    )


def _read_response(response: Mapping[str, Any], place: str) -> StoredResponse:
    headers = tuple(_read_headers(response.get("headers"), f"{place}.headers"))
    if "status_code" in response:
        body = _read_body(response.get("content"), f"{place}.content")
        return StoredResponse(
            _check_status(response["status_code"], f"{place}.status_code"), "", headers, body
        )
    status = _check_mapping(response.get("status"), f"{place}.status")
    code = _check_status(status.get("code"), f"{place}.status.code")
    reason = status.get("message") or ""
    body = _read_body(response.get("body"), f"{place}.body")
    return StoredResponse(code, _check_text(reason, f"{place}.status.message"), headers, body)


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
        case {"base64_string": str() as text}:
            try:
                return base64.b64decode(text)
            except binascii.Error as error:
                raise CassetteError(f"{place}: {error}") from None
        case {}:
            return b""
        case _:
            raise CassetteError(f"{place}: expected a text, !!binary or nothing, found {type(body).__name__}")


def _read_headers(headers: object, place: str) -> Iterator[tuple[str, str]]:
    for name, values in _check_mapping({} if headers is None else headers, place).items():
        for value in values if isinstance(values, list) else [values]:
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            yield name.lower(), _check_text(text, f"{place}.{name}")


def _check_mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CassetteError(f"{place}: expected a mapping, found {type(value).__name__}")
    return value


def _check_text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise CassetteError(f"{place}: expected a text, found {type(value).__name__}")
    return value


def _check_status(value: object, place: str) -> int:
    if not isinstance(value, int):
        raise CassetteError(f"{place}: expected a number, found {type(value).__name__}")
    return value


_CHAT: Final = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result for one file."""

    source: Path
    target: Path
    interactions: int
    others: tuple[str, ...]
    """Requests other than chat completions, each once; they are kept too."""
    left_out: tuple[str, ...]
    """Names of headers and unknown keys that our cassettes do not store."""
    scrubbed: int
    """The number of URLs in which a user, a password or a key was masked."""
    redacted: Mapping[str, int]
    """The number of different secrets of each kind that were replaced with placeholders."""


def import_cassette(
    source: Path | str,
    target: Path | str,
    *,
    overwrite: bool = False,
    redact: bool = False,
    known: Mapping[str, str] | None = None,
    rules: SecretRules | None = None,
) -> Imported:
    """Convert a cassette of stock vcrpy to one of ours, with all requests and responses.

    Bodies are decompressed, otherwise unchanged; headers that our cassettes do not store are dropped.

    :param redact: whether a secret in a body is replaced with a placeholder, the same one everywhere
    :param known: secret values by name; by default, those in the environment variables
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read or is invalid, or the target exists
    """
    source, target = Path(source), Path(target)
    if os.path.lexists(target) and not overwrite:
        raise CassetteError(
            f"{target}: exists already: import under another name, or overwrite it (--overwrite)"
        )
    try:
        read, unknown = _read_interactions(_parse_file(source))
    except CassetteError as error:
        raise CassetteError(f"{source}: {error}") from error
    rules = rules_in() if rules is None else rules
    known = known_secrets(os.environ, rules) if known is None else known
    interactions = [replace(one, response=decoded(one.response)) for one in read]
    hidden = _placeholders(interactions, known, rules) if redact else {}
    new = Recording.blank(target)
    for one in interactions:
        kept = replace(one.response, body=_replace_secrets(one.response.body, hidden))
        new.append(one.method, one.url, dict(one.headers), _replace_secrets(one.body, hidden), kept)
    try:
        new.save(known, rules)
    except SecretFound as found:
        raise SecretFound(f"{found}, or have it replaced (--redact)") from None
    asked = [f"{one.method} {endpoint(one.url)}" for one in interactions]
    return Imported(
        source,
        target,
        len(interactions),
        tuple(dict.fromkeys(name for name in asked if _CHAT not in name)),
        _losses(interactions, unknown),
        sum(scrubbed_url(one.url) != one.url for one in interactions),
        dict(Counter(kind for kind, _ in hidden.values())),
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


def _placeholders(
    interactions: Iterable[StockInteraction], known: Mapping[str, str], rules: SecretRules
) -> dict[str, tuple[str, str]]:
    """The kind and the placeholder of each secret in a body."""
    found: dict[str, tuple[str, str]] = {}
    numbers: Counter[str] = Counter()
    sent: dict[str, str] = {}
    seen: set[str] = set()
    for one in interactions:
        sent |= secrets_sent(one.url, dict(one.headers))
    for one in interactions:
        for body in (one.body, one.response.body):
            for _, text in unseen(body_texts("", body), seen):
                for kind, secret in secrets_in(text, {**known, **sent}, rules):
                    if secret not in found:
                        numbers[kind] += 1
                        found[secret] = kind, _placeholder(kind, numbers[kind])
    return found


def _placeholder(kind: str, number: int) -> str:
    """The placeholder for a secret, in characters that need no escape.

    >>> _placeholder("API key", 2)
    'REDACTED-API-key-2'
    """
    return f"REDACTED-{re.sub('[^A-Za-z0-9]+', '-', kind).strip('-')}-{number}"


def _replace_secrets(body: bytes, hidden: Mapping[str, tuple[str, str]]) -> bytes:
    """The body with placeholders; the longest secret first, since one may contain another."""
    for secret in sorted(hidden, key=len, reverse=True):
        for written in spellings(secret):
            body = body.replace(written.encode("utf-8", "surrogateescape"), hidden[secret][1].encode())
    return body


def _losses(interactions: Iterable[StockInteraction], unknown: Iterable[str]) -> tuple[str, ...]:
    left: set[str] = {*unknown}
    for one in interactions:
        left |= {f"request header {name}" for name, _ in one.headers if name not in REQUEST_HEADERS}
        left |= {f"response header {name}" for name, _ in one.response.headers if not is_stored(name)}
        left |= {*one.unknown}
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
    rules: SecretRules | None = None,
) -> Exported:
    """Convert a cassette of ours to one of stock vcrpy; importing it gives the same again.

    :param skip_broken: whether failed exchanges are left out; otherwise they are an error
    :param known: secret values by name; by default, those in the environment variables
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read or has failed exchanges, or the target exists
    """
    source, target = Path(source), Path(target)
    if os.path.lexists(target) and not overwrite:
        raise CassetteError(
            f"{target}: exists already: export under another name, or overwrite it (--overwrite)"
        )
    file = CassetteFile()
    entries = file.load(source)
    broken = {
        number: f"interaction {number} ({broke.kind})"
        for number, entry in enumerate(entries, 1)
        if (broke := Break.found_in(entry))
    }
    if broken and not skip_broken:
        raise CassetteError(
            f"{source}: {', '.join(broken.values())} broke off, which vcrpy cannot play: "
            "leave such exchanges out (--skip-broken)"
        )
    whole = [entry for number, entry in enumerate(entries, 1) if number not in broken]
    file.secret_rules = rules_in() if rules is None else rules
    file.known_secrets = known_secrets(os.environ, file.secret_rules) if known is None else known
    file.save(target, whole, _stock_text)
    answers = enumerate(map(answer_in, whole), 1)
    streams = (n for n, one in answers if isinstance(one, StoredResponse) and is_stream(one))
    return Exported(source, target, len(whole), tuple(broken.values()), tuple(streams))


def _stock_text(_header: Header, interactions: Sequence[Interaction]) -> str:
    """The text as stock vcrpy writes it, with texts instead of bytes."""
    entries = [
        {
            "request": compat.convert_to_unicode(dict(entry["request"])),
            "response": compat.convert_to_unicode(
                {**entry["response"], "body": {"string": entry["response"]["body"]}}
            ),
        }
        for entry in interactions
    ]
    text: str = yamlserializer.serialize({"version": 1, "interactions": entries})
    return text
