"""A cassette file, replaced atomically: the old one stays until the new one is on disk."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from toolreel._internal import CassetteError, SecretFound, VaryError
from toolreel._secrets import (
    Leak,
    SecretRules,
    SharedBeginnings,
    body_texts,
    leaks_at,
    request_texts,
    secrets_in,
)
from toolreel.cassette._serializer import Header, document, serialize
from toolreel.cassette._stored_exchange import Exchange, StoredResponse
from toolreel.cassette._vary import stored


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
    rules: SecretRules | None = None,
    write: Callable[[Header, Sequence[Exchange]], str] = serialize,
) -> str:
    """The text of a cassette in which secrets were searched.

    :param known: secret values by name
    :param rules: the project's rules; by default, those in the file named by ``TOOLREEL_SECRETS``
    :raises SecretFound: if it would contain a secret
    :raises CassetteError: if it would not be read back the same
    """
    exchanges = _with_masked_headers(exchanges, known, rules)
    said = (("vary", text) for rule in header.vary for text in stored(rule).values())
    for _, leak in leaks_at(said, known, rules):
        raise SecretFound(f"vary: a rule holds a secret ({leak.kind}); nothing was written")
    for exchange, place, leak in leaks_in_exchanges(exchanges, known, rules):
        raise SecretFound(
            f"{exchange.name}: {place}, line {leak.line} holds a secret "
            f"({leak.kind}): {leak.excerpt!r}; nothing was written. "
            "Keep it out of the session and record again, or, if it is none, allow it by a rule "
            "(TOOLREEL_SECRETS)"
        )
    return write(header, exchanges)


def leaks_in_exchanges(
    exchanges: Sequence[Exchange], known: Mapping[str, str], rules: SecretRules | None
) -> Iterator[tuple[Exchange, str, Leak]]:
    """The secrets in exchanges, each with its place; what requests have in common is searched once."""
    seen: set[str] = set()
    beginnings = SharedBeginnings()
    for exchange in exchanges:
        answer = exchange.answer
        texts = [*exchange.texts(), *request_texts("request.body", exchange.body, beginnings)]
        if isinstance(answer, StoredResponse):
            texts += body_texts("response.body", answer.body)
        for place, leak in leaks_at(texts, known, rules, seen):
            yield exchange, place, leak


def _with_masked_headers(
    exchanges: Sequence[Exchange], known: Mapping[str, str], rules: SecretRules | None
) -> list[Exchange]:
    """Mask secrets in headers of responses, which no program needs to find its next step."""

    def masked(name: str, value: str) -> str:
        line = f"{name}: {value}"
        for _, secret in secrets_in(line, known, rules):
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
