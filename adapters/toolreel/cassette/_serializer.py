"""The text of a cassette: its header and its interactions, written and read.

In the file, bodies are trees and each message of a conversation is written once
(:mod:`~toolreel.cassette._bodies`); repeated values such as ``tools`` are aliases. ``toolreel: 1`` is
the version of this format, ``version: 1`` that of vcrpy's, and ``...`` at the end marks a complete
file. A failed exchange has an ``error``
(:mod:`~toolreel.cassette._stored_exchange`). Rules and frozen values are in the header.

Files are untrusted: their structure is checked, and each error names the interaction and the key.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from toolreel._internal import CassetteError, SecretFound, VaryError, check_version
from toolreel._secrets import (
    Leak,
    SharedBeginnings,
    body_texts,
    leaks_at,
    request_texts,
    secrets_in,
)
from toolreel.cassette._bodies import BodyReader, BodyWriter, body_form, resolved
from toolreel.cassette._stored_exchange import (
    CANCELLED,
    CLOSED,
    KINDS,
    Break,
    Exchange,
    StoredResponse,
    by_name,
)
from toolreel.cassette._vary import Vary, rule_of, stored
from toolreel.cassette._yaml import BLOB_TAG, dump_yaml, load_yaml

KEYS: Final = ("vary", "now", "seed")


@dataclass(frozen=True, slots=True)
class Header:
    """What a cassette says besides its interactions: its own rules, and values that were frozen for it.

    ::

        vary:
          - pattern: 'Now: [0-9-]{10} [0-9:]{5}'
            becomes: 'Now: <time>'
        now: '2026-11-22T14:03:00+00:00'
        seed: 1804289383

    A key that is not needed is left out. A session draws its time, and the seed of its ids and random
    numbers, once; each replay gets the same.
    """

    vary: tuple[Vary, ...] = ()
    now: datetime | None = None
    """With a time zone; ``None`` if the session didn't ask for it."""
    seed: int | None = None
    """Of the ids and random numbers; ``None`` if the session didn't ask for any."""

    @property
    def stored(self) -> dict[str, Any]:
        """The keys that go into the file."""
        return {
            **({"vary": [stored(rule) for rule in self.vary]} if self.vary else {}),
            **({} if self.now is None else {"now": self.now.isoformat()}),
            **({} if self.seed is None else {"seed": self.seed}),
        }


def header_of(tree: Mapping[str, Any]) -> Header:
    """The header in the top mapping of a file.

    :raises VaryError: if a rule cannot be used; names its place
    :raises CassetteError: if the time or the seed cannot
    """
    return Header(_read_vary(tree.get("vary", [])), _read_now(tree), _seed(tree))


def _read_vary(entries: object) -> tuple[Vary, ...]:
    if not isinstance(entries, list):
        raise VaryError("vary: expected a list of rules, each with at, pattern or becomes")
    return tuple(rule_of(entry, f"vary[{n}]") for n, entry in enumerate(entries))


def _read_now(tree: Mapping[str, Any]) -> datetime | None:
    if "now" not in tree:
        return None
    try:
        now = datetime.fromisoformat(tree["now"])
    except (TypeError, ValueError):
        now = None
    if now is None or now.tzinfo is None:
        raise CassetteError(
            f"now: {tree['now']!r} is no time with a time zone in quotes, such as '2026-11-22T14:03:00+00:00'"
        )
    return now


def _seed(tree: Mapping[str, Any]) -> int | None:
    if "seed" not in tree:
        return None
    seed = tree["seed"]
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise CassetteError(f"seed: {seed!r} is no whole number from 0 on")
    return seed


VERSION: Final = 1
"""The version of the format; a file of another one is rejected."""

_VCR_VERSION: Final = 1
_Kind = TypeVar("_Kind")
_RERECORD: Final = "record the session again"


def serialize(header: Header, exchanges: Sequence[Exchange]) -> str:
    """The text of a cassette, checked to read back the same.

    :raises CassetteError: if it would not
    """
    writer = BodyWriter()
    for exchange in exchanges:
        writer.announce(exchange.body)
    tree = {
        "toolreel": VERSION,
        "version": _VCR_VERSION,
        **header.stored,
        "interactions": [_written(exchange, writer, n) for n, exchange in enumerate(exchanges)],
        **({"blobs": writer.blobs} if writer.blobs else {}),
    }
    text = dump_yaml(tree, writer.anchors())
    header_read, read = document(text)
    if header_read != header:
        raise CassetteError("the header does not come back from YAML as it was; nothing was written")
    for before, after in zip(exchanges, read, strict=True):
        if replace(before, pieces=(before.body,)) != replace(after, pieces=(after.body,)):
            raise CassetteError(
                f"{before.name}: does not come back from YAML as it was; nothing was written. "
                "This is a defect of toolreel: please report it with this interaction"
            )
    return text


def _written(exchange: Exchange, writer: BodyWriter, index: int) -> dict[str, Any]:
    """An exchange as it is written; an empty body is left out."""
    request: dict[str, Any] = {
        "method": exchange.method,
        "uri": exchange.url,
        "headers": {name: [*values] for name, values in exchange.headers.items()},
    }
    if exchange.body:
        request["body"] = writer.request(index)
    parts = {"request": request}
    if isinstance(answer := exchange.answer, StoredResponse):
        status = {"code": answer.status, "message": answer.reason}
        parts["response"] = {"status": status, "headers": by_name(answer.headers)}
        if answer.body:
            parts["response"]["body"] = body_form(answer.body)
    if broke := exchange.broke:
        parts["error"] = {"kind": broke.kind, "message": broke.message}
    return parts


def document(text: str) -> tuple[Header, list[Exchange]]:
    """The header and the exchanges in a text, with bodies of conversations in pieces.

    :raises CassetteError: if the text is not one that :func:`serialize` can write
    """
    tree: Mapping[str, Any] = _check_type(load_yaml(text), dict, "the top of the file")
    if "toolreel" not in tree:
        raise CassetteError(f"the key 'toolreel' is missing, so this is no cassette of toolreel: {_RERECORD}")
    check_version(tree["toolreel"], VERSION, "toolreel: a cassette", _RERECORD, CassetteError)
    if tree.get("version") != _VCR_VERSION:
        known = f"version {tree.get('version')!r} is not known, only {_VCR_VERSION}"
        raise CassetteError(f"version: {known}: {_RERECORD}")
    _check_mapping(tree, "the cassette", {"toolreel", "version", "interactions"}, (*KEYS, "blobs"))
    if "blobs" in tree or BLOB_TAG in text:
        resolved(tree["interactions"], tree.get("blobs", {}))
    reader = BodyReader()
    entries = _check_type(tree["interactions"], list, "interactions")
    return header_of(tree), [_read_exchange(entry, reader, n) for n, entry in enumerate(entries, 1)]


def _read_exchange(entry: object, reader: BodyReader, number: int) -> Exchange:
    place = f"interaction {number}"
    parts = _check_mapping(entry, place, {"request"}, ("response", "error"))
    request = _check_mapping(parts["request"], f"{place}: request", {"method", "uri", "headers"}, ("body",))
    broke = _read_error(parts["error"], f"{place}: error") if "error" in parts else None
    if "response" in parts:
        answer: StoredResponse | Break = _read_response(parts["response"], broke, f"{place}: response")
    elif broke:
        answer = broke
    else:
        raise CassetteError(f"{place}: the key 'response' is missing: {_RERECORD}")
    pieces: tuple[bytes, ...] = ()
    if "body" in request:
        where = f"{place}: request.body"
        pieces = reader.request(_check_type(request["body"], dict, where), where)
    return Exchange(
        number,
        _check_type(request["method"], str, f"{place}: request.method"),
        _check_type(request["uri"], str, f"{place}: request.uri"),
        _read_headers(request["headers"], f"{place}: request.headers"),
        pieces,
        answer,
    )


def _read_response(part: object, broke: Break | None, place: str) -> StoredResponse:
    response = _check_mapping(part, place, {"status", "headers"}, ("body",))
    status = _check_mapping(response["status"], f"{place}.status", {"code", "message"})
    headers = _read_headers(response["headers"], f"{place}.headers")
    body = b""
    if "body" in response:
        body = BodyReader.response(_check_type(response["body"], dict, f"{place}.body"), f"{place}.body")
    return StoredResponse(
        _check_type(status["code"], int, f"{place}.status.code"),
        _check_type(status["message"], str, f"{place}.status.message"),
        tuple((name, value) for name, values in headers.items() for value in values),
        body,
        broke,
    )


def _read_error(part: object, place: str) -> Break:
    """The ``error`` of a failed exchange."""
    error = _check_mapping(part, place, {"kind", "message"})
    kind, message = (_check_type(error[key], str, f"{place}.{key}") for key in ("kind", "message"))
    if kind not in (*KINDS, CLOSED, CANCELLED):
        raise CassetteError(
            f"{place}.kind: expected the name of an httpx.TransportError, found {kind!r}: {_RERECORD}"
        )
    return Break(kind, message)


def _read_headers(headers: object, place: str) -> dict[str, list[str]]:
    return {
        name: [
            _check_type(value, str, f"{place}.{name}")
            for value in _check_type(values, list, f"{place}.{name}")
        ]
        for name, values in _check_type(headers, dict, place).items()
    }


def _check_mapping(
    value: object, place: str, needed: set[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Check that a value is a mapping with these keys."""
    mapping = _check_type(value, dict, place)
    if mapping.keys() == needed:
        return mapping
    for key in sorted(needed - mapping.keys()):
        raise CassetteError(f"{place}: the key {key!r} is missing: {_RERECORD}")
    for key in sorted(mapping.keys() - needed - {*optional}):
        raise CassetteError(f"{place}: the key {key!r} is not known here: remove it, or {_RERECORD}")
    return mapping


def _check_type(value: object, kind: type[_Kind], place: str) -> _Kind:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CassetteError(f"{place}: expected {_NAMES[kind]}, found {type(value).__name__}: {_RERECORD}")
    return value


_NAMES: Final[Mapping[type, str]] = {
    str: "a text (in quotes)",
    int: "a whole number",
    list: "a list",
    dict: "a mapping",
}


# A cassette file, replaced atomically: the old one stays until the new one is on disk.


def read_cassette(path: Path) -> tuple[Header, list[Exchange]]:
    """The header and the exchanges in a file.

    :raises CassetteError: if it cannot be read or is invalid
    :raises VaryError: if it has a rule that cannot be used
    """
    try:
        return parse_cassette(path.read_bytes().decode(), path)
    except FileNotFoundError as error:
        raise CassetteError(f"{path}: there is no such cassette: record it first") from error
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CassetteError(
            f"{path}: not UTF-8 at byte {error.start}, so no cassette: record again"
        ) from error


def parse_cassette(text: str, path: Path) -> tuple[Header, list[Exchange]]:
    """The header and the exchanges in the text of a file, with the same errors."""
    try:
        return document(text)
    except (CassetteError, UnicodeEncodeError) as error:
        raise CassetteError(f"{path}: {error}") from error
    except VaryError as error:
        raise VaryError(f"{path}: {error}") from error


def cassette_text(
    header: Header,
    exchanges: Sequence[Exchange],
    known: Mapping[str, str],
    write: Callable[[Header, Sequence[Exchange]], str] = serialize,
) -> str:
    """The text of a cassette in which secrets were searched.

    :param known: secret values by name
    :raises SecretFound: if it would contain a secret
    :raises CassetteError: if it would not be read back the same
    """
    exchanges = _with_masked_headers(exchanges, known)
    said = (("vary", text) for rule in header.vary for text in stored(rule).values())
    for _, leak in leaks_at(said, known):
        raise SecretFound(f"vary: a rule holds a secret ({leak.kind}); nothing was written")
    for exchange, place, leak in leaks_in_exchanges(exchanges, known):
        raise SecretFound(
            f"{exchange.name}: {place}, line {leak.line} holds a secret "
            f"({leak.kind}): {leak.excerpt!r}; nothing was written. "
            "Keep it out of the session and record again, or, if it is none, allow it by a rule "
            "(TOOLREEL_SECRETS)"
        )
    return write(header, exchanges)


def leaks_in_exchanges(
    exchanges: Sequence[Exchange], known: Mapping[str, str]
) -> Iterator[tuple[Exchange, str, Leak]]:
    """The secrets in exchanges, each with its place; what requests have in common is searched once."""
    seen: set[str] = set()
    beginnings = SharedBeginnings()
    for exchange in exchanges:
        answer = exchange.answer
        texts = [*exchange.texts(), *request_texts("request.body", exchange.body, beginnings)]
        if isinstance(answer, StoredResponse):
            texts += body_texts("response.body", answer.body)
        for place, leak in leaks_at(texts, known, seen=seen):
            yield exchange, place, leak


def _with_masked_headers(exchanges: Sequence[Exchange], known: Mapping[str, str]) -> list[Exchange]:
    """Mask secrets in headers of responses, which no program needs to find its next step."""

    def masked(name: str, value: str) -> str:
        line = f"{name}: {value}"
        for _, secret in secrets_in(line, known):
            line = line.replace(secret, "REDACTED")
        return line.removeprefix(f"{name}: ")

    def without_secrets(answer: StoredResponse) -> StoredResponse:
        headers = tuple((name, masked(name, value)) for name, value in answer.headers)
        return replace(answer, headers=headers)

    return [
        replace(one, answer=without_secrets(one.answer)) if isinstance(one.answer, StoredResponse) else one
        for one in exchanges
    ]


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically, once the new content is on disk.

    :raises CassetteError: if it cannot be written; the old file stays
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise CassetteError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink()
