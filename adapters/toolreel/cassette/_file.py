"""A cassette file, replaced atomically: the old one stays until the new one is on disk."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from toolreel._internal import CassetteError, SecretFound, VaryError
from toolreel._secrets import SecretRules, SharedBeginnings, interaction_texts, leaks_at, secrets_in
from toolreel.cassette._bodies import Body
from toolreel.cassette._lookup import RequestKey, canonical_body, request_key
from toolreel.cassette._serializer import Header, Interaction, as_bytes, document, in_one_piece, serialize
from toolreel.cassette._vary import stored
from toolreel.cassette._yaml import TEXT_LIMIT
from toolreel_core._jsontext import JsonText

_WORTH_KEEPING: Final = 100_000
"""Maximum characters of a file whose content is cached."""


class CassetteFile:
    """The file of one cassette."""

    def __init__(self) -> None:
        self.keys: list[RequestKey] = []
        """After loading: the lookup key of each request."""
        self.header = Header()
        """After loading: what the file says; before saving: what it will say."""
        self.known_secrets: Mapping[str, str] = {}
        """Before saving: secret values by name, which must not be written."""
        self.secret_rules: SecretRules | None = None
        """Before saving: rules for secrets; by default, those in the file named by ``TOOLREEL_SECRETS``."""

    def load(self, path: Path) -> list[Interaction]:
        """The interactions in a file; the body of a request may be in pieces.

        :raises CassetteError: if it cannot be read or is invalid
        :raises VaryError: if it has a rule that cannot be used
        """
        try:
            text = read_file(path)
        except CassetteError as error:
            raise CassetteError(f"{path}: {error}") from error
        return self.load_text(text, path)

    def load_text(self, text: str, path: Path) -> list[Interaction]:
        """The interactions in the text of a file, with the same errors."""
        try:
            read = _read_interactions if len(text) > _WORTH_KEEPING else KEPT
            self.header, interactions, keys = read(text)
        except (CassetteError, UnicodeEncodeError) as error:
            raise CassetteError(f"{path}: {error}") from error
        except VaryError as error:
            raise VaryError(f"{path}: {error}") from error
        self.keys = [*keys]
        return [*interactions]

    def save(
        self,
        path: Path,
        interactions: Iterable[Interaction],
        write: Callable[[Header, Sequence[Interaction]], str] = serialize,
    ) -> None:
        """Replace the file with these interactions.

        :raises SecretFound: if it would contain a secret
        :raises CassetteError: if it cannot be written, or would not be read back the same
        """
        try:
            text = self.text(interactions, write)
        except CassetteError as error:
            raise type(error)(f"{path}: {error}") from error
        replace_file(path, text.encode())

    def text(
        self,
        interactions: Iterable[Interaction],
        write: Callable[[Header, Sequence[Interaction]], str] = serialize,
    ) -> str:
        """The text that :meth:`save` writes.

        :raises SecretFound: if it would contain a secret
        """
        whole = self._mask_response_headers([in_one_piece(entry) for entry in interactions])
        self._refuse_secrets(whole)
        return write(self.header, whole)

    def _mask_response_headers(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Mask secrets in headers of responses, which no program needs to find its next step."""
        lines = {
            f"{name}: {value}"
            for entry in interactions
            if "response" in entry
            for name, values in entry["response"]["headers"].items()
            for value in values
        }
        found: dict[str, str] = {}
        for line, _ in leaks_at(((line, line) for line in lines), self.known_secrets, self.secret_rules):
            for _, secret in secrets_in(line, self.known_secrets, self.secret_rules):
                found[line] = found.get(line, line).replace(secret, "REDACTED")
        return (
            [_replace_response_headers(entry, found) for entry in interactions] if found else [*interactions]
        )

    def _refuse_secrets(self, interactions: Sequence[Interaction]) -> None:
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


def _replace_response_headers(entry: Interaction, found: Mapping[str, str]) -> Interaction:
    """The interaction with other lines in the head of its response."""
    if "response" not in entry:
        return entry
    headers = {
        name: [found.get(line := f"{name}: {value}", line).removeprefix(f"{name}: ") for value in values]
        for name, values in entry["response"]["headers"].items()
    }
    return {**entry, "response": {**entry["response"], "headers": headers}}


def _read_interactions(text: str) -> tuple[Header, list[Interaction], list[RequestKey]]:
    """The header of a text, its interactions, and the key of each request."""
    header, interactions = document(text)
    return header, interactions, [_request_key(entry["request"]) for entry in interactions]


KEPT: Final = lru_cache(maxsize=64)(_read_interactions)
"""A cached version, for files that are opened often; callers do not modify the result."""


def _request_key(request: Mapping[str, Any]) -> RequestKey:
    """The key of a request; its body may be in pieces."""
    body: Body = request["body"]
    if isinstance(body, tuple):
        return request_key(request["method"], request["uri"], *body)
    data = as_bytes(body)
    compared = data if isinstance(body, JsonText) else canonical_body(data)
    return request_key(request["method"], request["uri"], compared)


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
