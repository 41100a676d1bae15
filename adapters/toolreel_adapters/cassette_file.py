"""A cassette on disk, in the shape of a persister of vcrpy: read whole, replaced whole.

vcrpy's own persister treats an empty or unreadable file as a missing one and records over it,
and can leave half a file behind. This one raises, and the old file stays until the new one is
complete on disk.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from returns.pipeline import is_successful

from toolreel.jsontext import Json, JsonText, canonical, read
from toolreel_adapters.cassette_key import RequestKey, canonical_body, request_key
from toolreel_adapters.cassette_yaml import TEXT_LIMIT
from toolreel_adapters.errors import CassetteError, MissingExtra, SecretFound
from toolreel_adapters.secret_scan import leaks, spoken
from toolreel_adapters.shared_beginnings import SharedBeginnings

try:
    from vcr.request import Request
except ImportError as error:
    raise MissingExtra.of("record", "vcrpy") from error

__all__ = ["CassetteFile"]


class _Serializer(Protocol):
    """What vcrpy calls a serializer; ours is :mod:`toolreel_adapters.cassette_format`."""

    def serialize(self, cassette_dict: Mapping[str, Any], /) -> str: ...
    def deserialize(self, cassette_string: str, /) -> dict[str, Any]: ...


class CassetteFile:
    """The persister of one cassette."""

    def __init__(self) -> None:
        self.keys: list[RequestKey] = []
        """After loading: the key of each request, by which it is looked up."""
        self.known_secrets: Mapping[str, str] = {}
        """Before saving: values that must not stand in the file, by their names."""

    def load_cassette(
        self, cassette_path: str, serializer: _Serializer
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """The requests and responses in a file.

        :raises CassetteError: when it cannot be read or trusted
        """
        try:
            interactions = serializer.deserialize(_text(Path(cassette_path)))["interactions"]
            requests = [self._request(entry["request"]) for entry in interactions]
            responses = [_response(entry["response"]) for entry in interactions]
        except (CassetteError, UnicodeEncodeError) as error:
            raise CassetteError(f"{cassette_path}: {error}") from error
        return requests, responses

    def save_cassette(
        self, cassette_path: str, cassette_dict: Mapping[str, Any], serializer: _Serializer
    ) -> None:
        """Replace the file by one with these requests and responses.

        :raises SecretFound: when it would hold a secret
        :raises CassetteError: when it cannot be written, or would not be read back the same
        """
        pairs = [*zip(cassette_dict["requests"], cassette_dict["responses"], strict=True)]
        interactions = [{"request": _request_dict(old), "response": response} for old, response in pairs]
        try:
            self._refuse_secrets(interactions)
            text = serializer.serialize({"version": 1, "interactions": interactions})
        except CassetteError as error:
            raise type(error)(f"{cassette_path}: {error}") from error
        _replace(Path(cassette_path), text.encode())

    def _request(self, entry: Mapping[str, Any]) -> Request:
        text: str | bytes = entry["body"] or b""
        body = text.encode() if isinstance(text, str) else text
        compared = body if isinstance(text, JsonText) else canonical_body(body)
        self.keys.append(request_key(entry["method"], entry["uri"], compared))
        return Request(entry["method"], entry["uri"], body, entry["headers"])

    def _refuse_secrets(self, interactions: list[dict[str, Any]]) -> None:
        seen: set[str] = set()
        beginnings = SharedBeginnings()
        for number, entry in enumerate(interactions, 1):
            for place, text in _texts(entry, beginnings):
                if text in seen:
                    continue
                seen.add(text)
                found = leaks(text, self.known_secrets)
                if found:
                    raise SecretFound(
                        f"interaction {number}: {place}, line {found[0].line} holds a secret "
                        f"({found[0].kind}): {found[0].excerpt!r}; nothing was written. "
                        "Keep it out of the session and record again"
                    )


def _text(path: Path) -> str:
    try:
        data = path.read_bytes() if path.stat().st_size <= TEXT_LIMIT * 4 else None
    except FileNotFoundError as error:
        raise CassetteError("there is no such cassette: record it first") from error
    except OSError as error:
        raise CassetteError(f"cannot be read: {error.strerror}") from error
    if data is None:
        raise CassetteError(f"larger than {TEXT_LIMIT * 4} bytes: split the session over several cassettes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CassetteError(f"not UTF-8 at byte {error.start}, so no cassette: record again") from error


def _response(entry: dict[str, Any]) -> dict[str, Any]:
    body = entry["body"]["string"]
    return {**entry, "body": {"string": body.encode() if isinstance(body, str) else body}}


def _request_dict(request: Request) -> dict[str, Any]:
    headers = {name: [value] for name, value in request.headers.items()}
    return {"method": request.method, "uri": request.uri, "headers": headers, "body": request.body}


def _texts(entry: Mapping[str, Any], beginnings: SharedBeginnings) -> Iterator[tuple[str, str]]:
    """Every text of an interaction in which a secret could stand, with the name of its place.

    :param beginnings: of the requests that were looked at before; what they said is not looked at again
    """
    yield "request.uri", entry["request"]["uri"]
    yield "response.status.message", entry["response"]["status"]["message"]
    yield "error.message", entry["response"].get("error", {}).get("message", "")
    for part in ("request", "response"):
        for name, values in entry[part]["headers"].items():
            yield f"{part}.headers.{name}", "\n".join(f"{name}: {value}" for value in values)
    yield from _request_texts("request.body", entry["request"]["body"] or b"", beginnings)
    yield from _body_texts("response.body", entry["response"]["body"]["string"])


def _request_texts(place: str, body: bytes, beginnings: SharedBeginnings) -> Iterator[tuple[str, str]]:
    short, same = beginnings.without(body)
    text = short.decode("utf-8", "replace")
    tree = read(text).value_or(None)
    messages = tree.get("messages") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(messages, list) or canonical(tree) != text:
        yield from _body_texts(place, body)
        return
    if messages or same:
        beginnings.learn(body, same, tree, messages)
    for index, message in enumerate(messages, same):
        yield from _leaves(f"{place}.messages[{index}]", message)
    yield from _leaves(place, {key: value for key, value in tree.items() if key != "messages"})


def _body_texts(place: str, body: bytes) -> Iterator[tuple[str, str]]:
    text = body.decode("utf-8", "replace")
    value = read(text)
    if is_successful(value):
        yield from _leaves(place, value.unwrap())
    for said in spoken(text):
        yield f"{place}, put together", said
    if not is_successful(value) or canonical(value.unwrap()) != text:
        yield place, text  # parsing hides what a repeated key had before


def _leaves(place: str, value: Json) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield place, value
        case Mapping():
            for key, item in value.items():
                yield f"{place} (a key)", key
                yield from _leaves(f"{place}.{key}", item)
        case list():
            for index, item in enumerate(value):
                yield from _leaves(f"{place}[{index}]", item)
        case _:
            yield place, str(value)


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside the old one and move it into its place once it is on disk."""
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
