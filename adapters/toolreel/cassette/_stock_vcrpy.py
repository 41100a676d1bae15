"""Convert cassettes of stock vcrpy to ours, and ours to those of stock vcrpy.

vcrpy's own reader takes them apart, over our safe YAML, since they are untrusted input: a tag
``!!python/...``, which stands for code, is rejected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vcr.request import Request
from vcr.serialize import deserialize, serialize
from vcr.serializers import yamlserializer

from toolreel._internal import CassetteError
from toolreel._secrets import known_secrets
from toolreel.cassette._serializer import SessionHeader, read_cassette, write_cassette
from toolreel.cassette._session import Session
from toolreel.cassette._stored_exchange import Exchange, StoredResponse, values_by_name
from toolreel.cassette._transports import BODY_LIMIT, decoded_response, headers_without_encoding
from toolreel.cassette._yaml import load_yaml
from toolreel.http import BodyError

_PYTHON_TAGS = ("!!python/", "tag:yaml.org,2002:python/")


@dataclass(frozen=True, slots=True)
class Converted:
    """The result for one file."""

    interactions: int
    left_out: tuple[str, ...] = ()
    """The exchanges that failed, which vcrpy cannot play, each with its exception."""


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
    _check_target_absent(target, overwrite=overwrite)
    exchanges = _read_stock(Path(source))
    new = Session(target, "record")
    for one in exchanges:
        headers = {name: values[-1] for name, values in one.headers.items()}
        new.append(one.method, one.url, headers, one.body, one.answer)
    new.save(known)
    return Converted(len(exchanges))


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
    _check_target_absent(target, overwrite=overwrite)
    header, exchanges = read_cassette(Path(source))
    whole = [one for one in exchanges if not one.broke]
    known = known_secrets(os.environ) if known is None else known
    write_cassette(Path(target), header, whole, known, _stock_vcrpy_yaml)
    broken = tuple(f"{one.name} ({one.broke.kind})" for one in exchanges if one.broke)
    return Converted(len(whole), broken)


def _check_target_absent(target: Path | str, *, overwrite: bool) -> None:
    if os.path.lexists(target) and not overwrite:
        raise CassetteError(f"{target}: exists already: take another name, or overwrite it (--overwrite)")


class _SafeSerializer:
    """What vcrpy's own ``deserialize`` reads with, in place of its unsafe YAML."""

    @staticmethod
    def deserialize(text: str) -> object:
        tree = load_yaml(text, whole=False)
        if isinstance(tree, dict) and "toolreel" in tree:
            raise CassetteError("is a cassette of toolreel already: there is nothing to import")
        return tree


def _read_stock(path: Path) -> list[Exchange]:
    try:
        requests, responses, *_ = deserialize(path.read_bytes().decode(), _SafeSerializer)
        pairs = zip(requests, responses, strict=True)
        return [
            _exchange_from_interaction(request, response, n) for n, (request, response) in enumerate(pairs, 1)
        ]
    except CassetteError as error:
        if any(tag in str(error) for tag in _PYTHON_TAGS):
            raise CassetteError(
                f"{path}: has a tag '!!python/...', which stands for code and is never obeyed: "
                "record it again, or write the value that is meant in its place"
            ) from None
        raise CassetteError(f"{path}: {error}") from error
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror}") from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # what its reader makes of others
        raise CassetteError(f"{path}: no cassette of vcrpy 1.0 or newer: {error!r}") from None


def _exchange_from_interaction(request: Any, response: Any, number: int) -> Exchange:
    if "status_code" in response:  # as older releases wrote it for httpx
        status, body = {"code": response["status_code"]}, response["content"]
    else:
        status, body = response["status"], response["body"]
    if isinstance(body, dict):
        body = body["string"]
    reason, headers = status.get("message") or "", tuple(_header_pairs(response["headers"]))
    texts = (request.method, request.uri, reason, *(text for pair in headers for text in pair))
    bodies = request.body or b"", (body.encode() if isinstance(body, str) else body or b"")
    if {*map(type, texts)} - {str} or {*map(type, bodies)} - {bytes}:
        raise CassetteError(f"interaction {number}: a value is not of the type that vcrpy writes")
    answer = _decoded_vcrpy_response(StoredResponse(int(status["code"]), reason, headers, bodies[1]))
    asked = values_by_name(_header_pairs(request.headers))
    return Exchange(number, request.method, request.uri, asked, bodies[:1], answer)


def _header_pairs(headers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, values in headers.items():
        for value in values if isinstance(values, list) else [values]:
            yield name.lower(), value.decode("latin-1") if isinstance(value, bytes) else value


def _decoded_vcrpy_response(response: StoredResponse) -> StoredResponse:
    """The response as a client sees it; vcrpy may leave the encoding header on a decoded body."""
    try:
        return decoded_response(response, BODY_LIMIT)
    except BodyError:
        with suppress(UnicodeDecodeError):
            response.body.decode()
            return replace(response, headers=headers_without_encoding(response))
        return response


def _stock_vcrpy_yaml(_header: SessionHeader, exchanges: Sequence[Exchange]) -> str:
    requests = [
        Request(
            one.method, one.url, one.body, {name: ", ".join(values) for name, values in one.headers.items()}
        )
        for one in exchanges
    ]
    responses = [
        {
            "status": {"code": one.answer.status, "message": one.answer.reason},
            "headers": values_by_name(one.answer.headers),
            "body": {"string": one.answer.body},
        }
        for one in exchanges
    ]
    text: str = serialize({"requests": requests, "responses": responses}, yamlserializer)
    return text
