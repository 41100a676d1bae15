"""A cassette file; for writing, a persister of vcrpy that replaces files atomically.

vcrpy's own persister treats an empty or unreadable file as missing and overwrites it, and can leave half a
file. This one raises, and the old file stays until the new one is on disk.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

from toolreel._internal import CassetteError, MissingExtra, SecretFound, VaryError
from toolreel._secrets import SecretRules, SharedBeginnings, interaction_texts, leaks_at, secrets_in
from toolreel.cassette._bodies import Body
from toolreel.cassette._header import Header
from toolreel.cassette._lookup import RequestKey, canonical_body, request_key
from toolreel.cassette._serializer import document
from toolreel.cassette._vary import stored
from toolreel.cassette._yaml import TEXT_LIMIT
from toolreel_core._jsontext import JsonText

try:
    from vcr.request import Request
except ImportError as error:
    raise MissingExtra.of("record", "vcrpy") from error


_WORTH_KEEPING: Final = 100_000
"""Maximum characters of a file whose content is cached."""


class _Writer(Protocol):
    """The writing half of a vcrpy serializer; ours is :mod:`toolreel.cassette._serializer`."""

    def serialize(self, cassette_dict: Mapping[str, Any], /) -> str: ...


class _InPieces(Request):  # type: ignore[misc]
    """A request whose body is joined on access: in a conversation, requests share most of their pieces."""

    @property
    def body(self) -> bytes:
        return b"".join(self._pieces)

    @body.setter
    def body(self, value: tuple[bytes, ...]) -> None:
        self._pieces = value


class CassetteFile:
    """The persister of one cassette."""

    def __init__(self) -> None:
        self.keys: list[RequestKey] = []
        """After loading: the lookup key of each request."""
        self.header = Header()
        """After loading: what the file says; before saving: what it will say."""
        self.known_secrets: Mapping[str, str] = {}
        """Before saving: secret values by name, which must not be written."""
        self.secret_rules: SecretRules | None = None
        """Before saving: rules for secrets; by default, those in the file named by ``TOOLREEL_SECRETS``."""

    def load_cassette(self, cassette_path: str) -> tuple[list[Any], list[dict[str, Any]]]:
        """The requests and responses in a file.

        :raises CassetteError: if it cannot be read or is invalid
        :raises VaryError: if it has a rule that cannot be used
        """
        try:
            text = read_file(Path(cassette_path))
        except CassetteError as error:
            raise CassetteError(f"{cassette_path}: {error}") from error
        return self.load_text(text, cassette_path)

    def load_text(self, text: str, cassette_path: str) -> tuple[list[Any], list[dict[str, Any]]]:
        """The requests and responses in the text of a file, with the same errors."""
        try:
            read = _read if len(text) > _WORTH_KEEPING else KEPT
            self.header, requests, responses, keys = read(text)
        except (CassetteError, UnicodeEncodeError) as error:
            raise CassetteError(f"{cassette_path}: {error}") from error
        except VaryError as error:
            raise VaryError(f"{cassette_path}: {error}") from error
        self.keys = [*keys]
        return [*requests], [*responses]

    def save_cassette(
        self, cassette_path: str, cassette_dict: Mapping[str, Any], serializer: _Writer
    ) -> None:
        """Replace the file with these requests and responses.

        :raises SecretFound: if it would contain a secret
        :raises CassetteError: if it cannot be written, or would not be read back the same
        """
        try:
            text = self.text(cassette_dict, serializer)
        except CassetteError as error:
            raise type(error)(f"{cassette_path}: {error}") from error
        replace_file(Path(cassette_path), text.encode())

    def text(self, cassette_dict: Mapping[str, Any], serializer: _Writer) -> str:
        """The text that :meth:`save_cassette` writes.

        :raises SecretFound: if it would contain a secret
        """
        interactions = interaction_dicts(cassette_dict["requests"], cassette_dict["responses"])
        self._mask_headers([entry["response"]["headers"] for entry in interactions])
        self._refuse_secrets(interactions)
        return serializer.serialize({"version": 1, "interactions": interactions, "header": self.header})

    def _mask_headers(self, headers: Sequence[dict[str, list[str]]]) -> None:
        """Mask secrets in headers of responses, which no program needs to find its next step."""
        lines = {f"{name}: {value}" for each in headers for name, values in each.items() for value in values}
        found: dict[str, str] = {}
        for line, _ in leaks_at(((line, line) for line in lines), self.known_secrets, self.secret_rules):
            for _, secret in secrets_in(line, self.known_secrets, self.secret_rules):
                found[line] = found.get(line, line).replace(secret, "REDACTED")
        for each in headers if found else ():
            for name, values in each.items():
                lines_of = [f"{name}: {value}" for value in values]
                each[name] = [found.get(line, line).removeprefix(f"{name}: ") for line in lines_of]

    def _refuse_secrets(self, interactions: list[dict[str, Any]]) -> None:
        seen: set[str] = set()
        beginnings = SharedBeginnings()
        said = (("vary", text) for rule in self.header.vary for text in stored(rule).values())
        for _, leak in leaks_at(said, self.known_secrets, self.secret_rules):
            raise SecretFound(f"vary: a rule holds a secret ({leak.kind}); nothing was written")
        for number, entry in enumerate(interactions, 1):
            texts = interaction_texts(entry, beginnings)
            for place, leak in leaks_at(texts, self.known_secrets, self.secret_rules, seen):
                raise SecretFound(
                    f"interaction {number}: {place}, line {leak.line} holds a secret "
                    f"({leak.kind}): {leak.excerpt!r}; nothing was written. "
                    "Keep it out of the session and record again, or, if it is none, allow it by a rule "
                    "(TOOLREEL_SECRETS)"
                )


def _read(text: str) -> tuple[Header, list[Any], list[dict[str, Any]], list[RequestKey]]:
    """The header of a text, its requests and responses, and the key of each request."""
    header, interactions = document(text)
    requests = [_request(entry["request"]) for entry in interactions]
    responses = [entry["response"] for entry in interactions]
    for response in responses:
        body = response["body"]["string"]
        response["body"] = {"string": body.encode() if isinstance(body, str) else body}
    return header, [one for one, _ in requests], responses, [key for _, key in requests]


KEPT: Final = lru_cache(maxsize=64)(_read)
"""A cached version, for files that are opened often; callers do not modify the result."""


def _request(entry: Mapping[str, Any]) -> tuple[Request, RequestKey]:
    body: Body = entry["body"] or b""
    method, uri, headers = entry["method"], entry["uri"], entry["headers"]
    if isinstance(body, tuple):
        return _InPieces(method, uri, body, headers), request_key(method, uri, *body)
    data = body.encode() if isinstance(body, str) else body
    compared = data if isinstance(body, JsonText) else canonical_body(data)
    return Request(method, uri, data, headers), request_key(method, uri, compared)


def read_file(path: Path) -> str:
    """The text of a cassette.

    :raises CassetteError: if it is missing, too large or not UTF-8; the message does not name the file
    """
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


def interaction_dicts(requests: Iterable[Request], responses: Iterable[Any]) -> list[dict[str, Any]]:
    """Interactions in the form of vcrpy's serializers."""
    return [
        {
            "request": {
                "method": request.method,
                "uri": request.uri,
                "headers": {name: [value] for name, value in request.headers.items()},
                "body": request.body,
            },
            "response": response,
        }
        for request, response in zip(requests, responses, strict=True)
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
