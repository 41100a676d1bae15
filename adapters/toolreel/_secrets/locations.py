"""The texts in a record in which a secret could stand, each with the name of its place.

What is looked at is what a reader will see: the strings of a JSON body without their escapes, JSON that
stands in a string of other JSON (as the arguments of calls do), a stream put together, a gzipped body
unpacked. A value under a secret's name is looked at together with that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolreel._errors import SecretFound
from toolreel._secrets.body_prefixes import SharedBeginnings
from toolreel._secrets.heuristics import names_a_secret
from toolreel._secrets.rules import SecretRules
from toolreel._secrets.scan import Leak, leaks, spoken
from toolreel.http._bounded_body import BodyError, BoundedDecoder
from toolreel_core._jsontext.canonical import Json, canonical, read

__all__ = ["body_texts", "interaction_texts", "leaks_at", "line_texts", "refuse_secrets_in_line", "unseen"]

_GZIP: Final = b"\x1f\x8b"
_UNPACKED: Final = 64 * 2**20
_NESTED: Final = 4
"""How often JSON is looked for in strings of JSON."""


def interaction_texts(entry: Mapping[str, Any], beginnings: SharedBeginnings) -> Iterator[tuple[str, str]]:
    """The texts of an interaction in vcrpy's form whose bodies are bytes.

    :param beginnings: of the requests that were looked at before; what they said is not looked at again
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
    text = _unpacked(body).decode("utf-8", "replace")
    for said in spoken(text):
        yield f"{place}, put together", said
    yield from _text(place, text)


def line_texts(line: str) -> Iterator[tuple[str, str]]:
    """The texts of a journal's line."""
    match read(line).value_or(None):
        case {"event": {"body": str() as body}}:
            for said in spoken(body):
                yield "event.body, put together", said
        case _:
            pass
    yield from _text("", line)


def leaks_at(
    texts: Iterable[tuple[str, str]],
    known: Mapping[str, str],
    rules: SecretRules | None = None,
    seen: set[str] | None = None,
) -> Iterator[tuple[str, Leak]]:
    """The leaks in texts, each with its place.

    :param seen: texts that were looked at before, which are passed over; these are added
    """
    for place, text in unseen(texts, set() if seen is None else seen):
        for leak in leaks(text, known, rules):
            yield place, leak


def unseen(texts: Iterable[tuple[str, str]], seen: set[str]) -> Iterator[tuple[str, str]]:
    """The texts that were not looked at before, and those in them, where they are JSON themselves.

    A conversation repeats its messages with every request, so this is where its length counts.
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
    """Fail if a journal's line holds a secret.

    :param where: the file and the line
    :raises SecretFound: says where and of which kind, never what
    """
    for place, leak in leaks_at(line_texts(line), known):
        raise SecretFound(
            f"{where}: not written, it holds {leak.kind} at {place or 'the top'}; "
            "keep secrets out of prompts and tool results"
        )


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


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        decoder = BoundedDecoder("gzip", _UNPACKED)
        decoder.feed(body)
        return decoder.finish()
    except BodyError:
        return body


def _text(place: str, text: str, nested: int = 1) -> Iterator[tuple[str, str]]:
    """The strings of JSON, and the text itself unless it has nothing beside them.

    :param nested: how often JSON is looked for in a string
    """
    value: Json = None
    if nested and text.lstrip()[:1] in {"{", "[", '"'}:  # such JSON is never null, so None is: not JSON
        value = read(text).value_or(None)
    if value is not None:
        yield from _leaves(place, value, nested - 1)
    if value is None or canonical(value) != text:
        yield place, text  # parsing hides what a repeated key had before


def _leaves(place: str, value: Json, nested: int) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield from _text(place, value, nested)
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
