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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from toolreel._internal import CassetteError, SecretFound, VaryError, check_format_version
from toolreel._secrets import Leak, body_texts, leaks_with_places, secrets_in, tree_texts
from toolreel.cassette._bodies import (
    ConversationBodies,
    bodies_as_mappings,
    body_as_mapping,
    body_pieces,
    insert_blobs,
)
from toolreel.cassette._stored_exchange import (
    CANCELLED,
    CLOSED,
    ERROR_KINDS,
    Break,
    Exchange,
    StoredResponse,
    values_by_name,
)
from toolreel.cassette._vary import Vary, rule_as_mapping, vary_rule_of
from toolreel.cassette._yaml import BLOB_TAG, dump_yaml, load_yaml
from toolreel_core._conversation import Rope
from toolreel_core._jsontext import list_at


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """A session draws its time and the seed of its ids once; each replay gets the same."""

    vary: tuple[Vary, ...] = ()
    now: datetime | None = None
    """With a time zone; ``None`` if the session didn't ask for it."""
    seed: int | None = None
    """Of the ids; ``None`` if the session didn't ask for any."""

    @property
    def as_mapping(self) -> dict[str, Any]:
        now = None if self.now is None else self.now.isoformat()
        keys = {"vary": [rule_as_mapping(rule) for rule in self.vary] or None, "now": now, "seed": self.seed}
        return {key: value for key, value in keys.items() if value is not None}


def header_of(tree: Mapping[str, Any]) -> SessionHeader:
    now = None
    if "now" in tree:
        with suppress(ValueError):
            now = datetime.fromisoformat(tree["now"])
        if now is None or now.tzinfo is None:
            raise CassetteError(
                f"now: {tree['now']!r} is not a time with a time zone, such as '2026-11-22T14:03:00+00:00'"
            )
    rules = tuple(vary_rule_of(entry, f"vary[{n}]") for n, entry in enumerate(tree.get("vary", [])))
    return SessionHeader(rules, now, tree.get("seed"))


CASSETTE_VERSION = 1

_VCR_VERSION = 1
_RERECORD = "record the session again"

_HEADERS = {"*": [str]}
_EXCHANGE = {
    "request": {"method": str, "uri": str, "headers": _HEADERS, "body?": dict},
    "response?": {"status": {"code": int, "message": str}, "headers": _HEADERS, "body?": dict},
    "error?": {"kind": str, "message": str},
}
_CASSETTE = {
    "toolreel": int,
    "version": int,
    "vary?": list,
    "now?": str,
    "seed?": int,
    "interactions": [_EXCHANGE],
    "blobs?": dict,
}
"""The shape of a file: types, lists of one shape, and mappings, in which a key with ``?`` may be missing and
``*`` is any key."""
_NAMES: Mapping[type, str] = {
    str: "a text (in quotes)",
    int: "a whole number",
    list: "a list",
    dict: "a mapping",
}


def _check_shape(value: Any, shape: Any, place: str = "") -> None:
    kind = shape if isinstance(shape, type) else type(shape)
    where, given = place or "the top of the file", type(value)
    # Not isinstance(), for which True is a whole number.
    if given is not kind:
        raise CassetteError(f"{where}: expected {_NAMES[kind]}, found {given.__name__}: {_RERECORD}")
    if isinstance(shape, list):
        for number, item in enumerate(value, 1):
            _check_shape(item, shape[0], f"interaction {number}" if place == "interactions" else place)
    if isinstance(shape, dict):
        for key in shape:
            if key not in value and not key.endswith("?") and key != "*":
                raise CassetteError(f"{where}: the key {key!r} is missing: {_RERECORD}")
        for key, item in value.items():
            inner = shape.get(key, shape.get(f"{key}?", shape.get("*")))
            if inner is None:
                raise CassetteError(f"{where}: the key {key!r} is not known here: remove it, or {_RERECORD}")
            between = "" if not place else "." if ":" in place else ": "
            _check_shape(item, inner, f"{place}{between}{key}")


def serialize(header: SessionHeader, exchanges: Sequence[Exchange]) -> str:
    bodies, blobs, anchors = bodies_as_mappings(exchange.body for exchange in exchanges)
    tree = {
        "toolreel": CASSETTE_VERSION,
        "version": _VCR_VERSION,
        **header.as_mapping,
        "interactions": [*map(_exchange_as_mapping, exchanges, bodies)],
        **({"blobs": blobs} if blobs else {}),
    }
    text = dump_yaml(tree, anchors)
    header_read, read = parse_cassette(text)
    if header_read != header:
        raise CassetteError("the header does not come back from YAML as it was; nothing was written")
    for before, after in zip(exchanges, read, strict=True):
        # What is read again has its body in other pieces.
        if replace(before, pieces=(before.body,)) != replace(after, pieces=(after.body,)):
            raise CassetteError(
                f"{before.name}: does not come back from YAML as it was; nothing was written. "
                "This is a defect of toolreel: please report it with this interaction"
            )
    return text


def _exchange_as_mapping(exchange: Exchange, body: dict[str, Any]) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": exchange.method,
        "uri": exchange.url,
        "headers": {name: [*values] for name, values in exchange.headers.items()},
    }
    if exchange.body:
        request["body"] = body
    parts = {"request": request}
    answer = exchange.answer
    if answer.status:
        status = {"code": answer.status, "message": answer.reason}
        parts["response"] = {"status": status, "headers": values_by_name(answer.headers)}
        if answer.body:
            parts["response"]["body"] = body_as_mapping(answer.body)
    if broke := exchange.broke:
        parts["error"] = {"kind": broke.kind, "message": broke.message}
    return parts


def parse_cassette(text: str) -> tuple[SessionHeader, list[Exchange]]:
    tree: Any = load_yaml(text)
    _check_shape(tree, dict)
    if "toolreel" not in tree:
        raise CassetteError(f"the key 'toolreel' is missing: this is not a cassette of toolreel; {_RERECORD}")
    check_format_version(tree["toolreel"], CASSETTE_VERSION, "toolreel: a cassette", _RERECORD, CassetteError)
    check_format_version(tree.get("version"), _VCR_VERSION, "version: a cassette", _RERECORD, CassetteError)
    _check_shape(tree, _CASSETTE)
    if "blobs" in tree or BLOB_TAG in text:
        insert_blobs(tree["interactions"], tree.get("blobs", {}))
    ropes: dict[int, Rope] = {}
    exchanges = [_read_exchange(entry, ropes, n) for n, entry in enumerate(tree["interactions"], 1)]
    return header_of(tree), exchanges


def _read_exchange(entry: Mapping[str, Any], ropes: dict[int, Rope], number: int) -> Exchange:
    place, request = f"interaction {number}", entry["request"]
    broke = Break(**entry["error"]) if "error" in entry else None
    if broke and broke.kind not in (*ERROR_KINDS, CLOSED, CANCELLED):
        raise CassetteError(
            f"{place}: error.kind: expected the name of an httpx.TransportError, found {broke.kind!r}: "
            f"{_RERECORD}"
        )
    answer = StoredResponse(broke=broke)
    if "response" in entry:
        response, body = entry["response"], b""
        if "body" in response:
            body = b"".join(body_pieces(response["body"], f"{place}: response.body"))
        headers = tuple((name, value) for name, values in response["headers"].items() for value in values)
        status = response["status"]
        answer = StoredResponse(status["code"], status["message"], headers, body, broke)
    elif not broke:
        raise CassetteError(f"{place}: the key 'response' is missing: {_RERECORD}")
    pieces: tuple[bytes, ...] = ()
    if "body" in request:
        pieces = body_pieces(request["body"], f"{place}: request.body", ropes)
    return Exchange(number, request["method"], request["uri"], request["headers"], pieces, answer)


# A cassette file, replaced atomically: the old one stays until the new one is on disk.


def read_cassette(path: Path) -> tuple[SessionHeader, list[Exchange]]:
    try:
        return parse_cassette(path.read_bytes().decode())
    except FileNotFoundError as error:
        raise CassetteError(f"{path}: there is no such cassette: record it first") from error
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CassetteError(
            f"{path}: not UTF-8 at byte {error.start}, so no cassette: record again"
        ) from error
    except (CassetteError, UnicodeEncodeError) as error:
        raise CassetteError(f"{path}: {error}") from error
    except VaryError as error:
        raise VaryError(f"{path}: {error}") from error


def write_cassette(
    path: Path,
    header: SessionHeader,
    exchanges: Sequence[Exchange],
    known: Mapping[str, str],
    as_text: Callable[[SessionHeader, Sequence[Exchange]], str] = serialize,
) -> None:
    """Replace a cassette atomically, or leave the old file.

    :raises SecretFound: if it would contain a secret
    :raises CassetteError: if it would not be read back the same, or cannot be written
    """
    exchanges = [_with_masked_headers(each, known) for each in exchanges]
    in_rules = (("vary", text) for rule in header.vary for text in rule_as_mapping(rule).values())
    for _, leak in leaks_with_places(in_rules, known):
        raise SecretFound(f"{path}: vary: a rule holds a secret ({leak.kind}); nothing was written")
    for exchange, place, leak in leaks_in_exchanges(exchanges, known):
        raise SecretFound(
            f"{path}: {exchange.name}: {place}, line {leak.line} holds a secret ({leak.kind}); nothing was "
            "written. Keep it out of the session and record again, or, if it is none, allow it by a rule "
            "(TOOLREEL_SECRETS)"
        )
    try:
        text = as_text(header, exchanges)
    except CassetteError as error:
        raise CassetteError(f"{path}: {error}") from error
    replace_file(path, text.encode())


def leaks_in_exchanges(
    exchanges: Sequence[Exchange], known: Mapping[str, str]
) -> Iterator[tuple[Exchange, str, Leak]]:
    """The secrets in exchanges, each with its place; what requests have in common is searched once."""
    seen: set[str] = set()
    bodies = ConversationBodies()
    for exchange in exchanges:
        texts = [*exchange.texts()]
        if found := bodies.read(exchange.body):
            tree, same = found
            for index, message in enumerate(list_at(tree, "messages"), same):
                texts += tree_texts(message, f"request.body.messages[{index}]")
            tree.pop("messages")
            texts += tree_texts(tree, "request.body")
        else:
            texts += body_texts("request.body", exchange.body)
        texts += body_texts("response.body", exchange.answer.body)
        for place, leak in leaks_with_places(texts, known, seen=seen):
            yield exchange, place, leak


def _with_masked_headers(exchange: Exchange, known: Mapping[str, str]) -> Exchange:
    """Mask secrets in headers of the response, which no program needs to find its next step."""

    def masked(name: str, value: str) -> tuple[str, str]:
        line = f"{name}: {value}"
        for _, secret in secrets_in(line, known):
            line = line.replace(secret, "REDACTED")
        return name, line.removeprefix(f"{name}: ")

    headers = tuple(masked(name, value) for name, value in exchange.answer.headers)
    return replace(exchange, answer=replace(exchange.answer, headers=headers))


def replace_file(path: Path, data: bytes) -> None:
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
