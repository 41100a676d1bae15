"""The texts in a record that are scanned for secrets, each with its location.

Texts are decoded first: JSON strings without escapes, JSON inside JSON strings (such as arguments of calls),
the concatenated texts of a stream, packed bodies, UTF-16. A value named like a secret is scanned with its
name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolreel._internal.errors import SecretFound
from toolreel._secrets.byte_readings import as_ascii, readings
from toolreel._secrets.patterns import names_a_secret
from toolreel._secrets.project_rules import SecretRules
from toolreel._secrets.repeated_history import SharedBeginnings
from toolreel._secrets.scan import Leak, leaks
from toolreel._secrets.split_texts import put_together
from toolreel_core._conversation.content.part import Blob
from toolreel_core._jsontext.canonical import Json, canonical, read

_NESTED: Final = 4
"""Maximum levels of JSON in JSON strings."""


def interaction_texts(entry: Mapping[str, Any], beginnings: SharedBeginnings) -> Iterator[tuple[str, str]]:
    """The texts of an interaction in vcrpy's form, with bodies as bytes.

    :param beginnings: of the requests scanned before; messages that they share are not scanned again
    """
    yield "request.uri", entry["request"]["uri"]
    yield "response.status.message", entry["response"]["status"]["message"]
    yield "error.message", entry["response"].get("error", {}).get("message", "")
    for part in ("request", "response"):
        for name, values in entry[part]["headers"].items():
            yield f"{part}.headers.{name}", "\n".join(f"{name}: {value}" for value in values)
    yield from _request_texts("request.body", entry["request"]["body"] or b"", beginnings)
    yield from body_texts("response.body", entry["response"]["body"]["string"])


def body_texts(place: str, body: bytes) -> Iterator[tuple[str, str]]:
    """The texts of a body.

    >>> [*body_texts("body", b'{"a":["hi"]}')]
    [('body (a key)', 'a'), ('body.a[0]', 'hi')]
    """
    for text in readings(body):
        for content in put_together(text):
            yield f"{place}, put together", content
        yield from _text(place, text)


def line_texts(line: str) -> Iterator[tuple[str, str]]:
    """The texts of a line of a journal."""
    match read(line).value_or(None):
        case {"event": {"body": str() as body}}:
            for content in put_together(as_ascii(body)):
                yield "event.body, put together", content
        case _:
            pass
    yield from _text("", line)


def leaks_at(
    texts: Iterable[tuple[str, str]],
    known: Mapping[str, str],
    rules: SecretRules | None = None,
    seen: set[str] | None = None,
) -> Iterator[tuple[str, Leak]]:
    """The leaks in texts, each with its location.

    :param seen: texts scanned before, which are skipped; new ones are added
    """
    for place, text in unseen(texts, set() if seen is None else seen):
        for leak in leaks(text, known, rules):
            yield place, leak


def unseen(texts: Iterable[tuple[str, str]], seen: set[str]) -> Iterator[tuple[str, str]]:
    """The texts that were not scanned before, and the strings in those that are JSON.

    A conversation repeats its messages with each request; without this, scanning takes quadratic time.
    """
    for place, text in texts:
        if text in seen:
            continue
        for inside, part in _text(place, text, _NESTED):
            if part not in seen:
                seen.add(part)
                yield inside, part
        seen.add(text)


def refuse_secrets_in_line(line: str, known: Mapping[str, str], where: str) -> None:
    """Reject a line of a journal that contains a secret.

    :raises SecretFound: names location and kind, never the secret itself
    """
    for place, leak in leaks_at(line_texts(line), known):
        raise SecretFound(
            f"{where}: not written, it holds {leak.kind} at {place or 'the top'}; "
            "keep secrets out of prompts and tool results"
        )


def refuse_secrets_in_blobs(blobs: Iterable[Blob], known: Mapping[str, str], where: str) -> None:
    """Reject blobs that contain a known secret; patterns of keys match random bytes by chance.

    :raises SecretFound: names the place and the variable, never the secret itself
    """
    for blob in blobs:
        if name := _secret_in(blob.data, known):
            raise SecretFound(
                f"{where}: not written, {blob!r} holds the value of {name}; "
                "keep secrets out of what is attached"
            )


def _secret_in(data: bytes, known: Mapping[str, str]) -> str:
    """The name of a secret whose value is in these bytes; empty if none is."""
    return next((name for name, value in known.items() if value.encode("utf-8", "replace") in data), "")


def _request_texts(place: str, body: bytes, beginnings: SharedBeginnings) -> Iterator[tuple[str, str]]:
    short, same = beginnings.without(body)
    text = short.decode("utf-8", "replace")
    tree = read(text).value_or(None)
    messages = tree.get("messages") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(messages, list) or canonical(tree) != text:
        yield from body_texts(place, body)
        return
    if messages or same:
        beginnings.learn(body, same, tree, messages)
    for index, message in enumerate(messages, same):
        yield from _leaves(f"{place}.messages[{index}]", message, 0)
    yield from _leaves(place, {key: value for key, value in tree.items() if key != "messages"}, 0)


def _text(place: str, text: str, nested: int = 1) -> Iterator[tuple[str, str]]:
    """The strings in JSON text, and the text itself unless it is canonical JSON."""
    if "\0" in text:  # UTF-16 that was read as UTF-8
        yield from _text(place, as_ascii(text), nested)
    value: Json = None
    if nested and text.lstrip()[:1] in {"{", "[", '"'}:  # such JSON is never null, so None is: not JSON
        value = read(text).value_or(None)
    if value is not None:
        yield from _leaves(place, value, nested - 1)
    if value is None or canonical(value) != text:
        yield place, text  # parsing drops the earlier values of a duplicate key


def _leaves(place: str, value: Json, nested: int) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield from _text(place, value, nested)
        case {"data": str() as base64, "format": str() as form, **more} if not more:  # audio in a message
            yield f"{place}.data", f"data:audio/{form};base64,{base64}"
        case {"blob": str(), "base64": str() as base64, **more} if not more:  # a line of a journal
            yield f"{place}.base64", f"data:;base64,{base64}"
        case Mapping():
            for key, item in value.items():
                yield f"{place} (a key)".strip(), key
                inside = f"{place}.{key}" if place else key
                if isinstance(item, str) and names_a_secret(key):
                    yield inside, f"{key}: {item}"
                yield from _leaves(inside, item, nested)
        case list():
            for index, item in enumerate(value):
                yield from _leaves(f"{place}[{index}]", item, nested)
        case _:
            yield place, str(value)
