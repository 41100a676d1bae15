"""Searches a text for secrets.

Secrets are found by patterns (:mod:`toolreel._secrets.rules`) and by known values
(:mod:`toolreel._secrets.known_values`), unless the project allows them
(:mod:`toolreel._secrets.rules`). A report has the line, never the secret itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from toolreel._internal import SecretFound
from toolreel._secrets.known_values import encoded_spellings
from toolreel._secrets.rules import Shape, names_a_secret, rules_from_environment
from toolreel._secrets.scrubbing import ascii_from_utf16_or_utf32, decoded_texts, joined_stream_texts
from toolreel_core._conversation import Blob
from toolreel_core._jsontext import Json, canonical, read_json
from toolreel_core._lazy_pattern import lazy_pattern

BLOB = lazy_pattern(r"data:[\w.+/-]*;base64,[A-Za-z0-9+/]*={0,2}")
"""An image, audio or a file: only known values are looked for in it."""
_BASE64 = lazy_pattern(r"[A-Za-z0-9+/]{256,}")
"""Base64 of an image or audio, in which short patterns match by chance."""


@dataclass(frozen=True, slots=True)
class Leak:
    kind: str
    """The name of a pattern, or ``value of NAME`` for a known value."""
    line: int


def leaks(text: str, known: Mapping[str, str]) -> tuple[Leak, ...]:
    """All secrets in a text, in order, unless the rules in the file named by ``TOOLREEL_SECRETS`` allow them.

    >>> leaks("key: sk-abcdefghij0123456789", {})
    (Leak(kind='API key', line=1),)

    :param known: secret values by their names, as from :func:`known_secrets`
    """
    return tuple(leak for _, leak in _leaks_among([("", text)], known))


def secrets_in(text: str, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for start, end, kind in _secret_spans(text, _secret_shapes_to_search([text], known)):
        yield kind, text[start:end]


def _leaks_among(texts: Sequence[tuple[str, str]], known: Mapping[str, str]) -> Iterator[tuple[str, Leak]]:
    shapes = _secret_shapes_to_search([text for _, text in texts], known)
    for place, text in texts if shapes else ():
        for start, _, kind in _secret_spans(text, shapes):
            yield place, Leak(kind, text.count("\n", 0, start) + 1)


def _secret_spans(text: str, shapes: Iterable[Shape]) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each secret; overlapping ones are merged under the kind of the first."""
    # -1: a match is in a blob if it begins after the start of it, and here it may begin at 0.
    blobs = [(-1, len(text))] if BLOB.fullmatch(text) else [match.span() for match in _BASE64.finditer(text)]
    matches = [match for shape in shapes for match in shape.matches(text, blobs)]
    matches.sort(key=itemgetter(0))  # stable, so the most specific pattern comes first
    rules, behind = rules_from_environment(), 0
    for begin, start, end, kind in matches:
        if rules.allows(text[start:end]):
            continue
        if begin >= behind:
            yield start, end, kind
        behind = max(behind, end)


@lru_cache(maxsize=256)
def _known_value_shape(name: str, value: str) -> Shape:
    written = encoded_spellings(value)
    pattern = re.compile("|".join(map(re.escape, written)))
    return Shape(f"value of {name}", pattern, written, in_blobs=True)


def _secret_shapes_to_search(texts: Collection[str], known: Mapping[str, str]) -> list[Shape]:
    """The shapes to look for, without those that match in none of some texts.

    Nearly all texts hold no secret, and most of what a search costs is to begin it, once for each text and
    each kind of secret. So all texts are looked at together first.
    """
    values = [_known_value_shape(name, value.strip()) for name, value in known.items() if value.strip()]
    every = "\n".join(texts)
    # Patterns match Base64 by chance, and take long for megabytes of it.
    whole = "\n".join(text for text in texts if not BLOB.fullmatch(text))
    lowered = whole.lower()
    # No shape of ours asks for more than that a word ends at its end, so what matches in a text also matches
    # where others stand around it; the patterns of a project may ask for anything, and have no hint.
    shapes = [
        shape
        for shape in rules_from_environment().shapes
        if not shape.hints or (any(map(lowered.__contains__, shape.hints)) and shape.pattern.search(whole))
    ]
    return [*shapes, *(shape for shape in values if any(map(every.__contains__, shape.hints)))]


# The texts in a record that are scanned for secrets, each with its location.
#
# Texts are decoded first: JSON strings without escapes, JSON inside JSON strings (such as arguments of
# calls), the concatenated texts of a stream, packed bodies, UTF-16. A value named like a secret is scanned
# with its name.


_NESTED = 4
"""Maximum levels of JSON in JSON strings."""
_JSON_BEGINS = frozenset({"{", "[", '"'})
_ARRAYS = (list, tuple)


def body_texts(place: str, body: bytes) -> Iterator[tuple[str, str]]:
    for text in decoded_texts(body):
        yield from _texts_in_json(place, text)
        for content in joined_stream_texts(text):
            yield f"{place}, put together", content


def texts_in_journal_line(line: str) -> Iterator[tuple[str, str]]:
    yield from _texts_in_json("", line)
    match read_json(line).value_or(None):
        case {"event": {"body": str() as body}}:
            for content in joined_stream_texts(ascii_from_utf16_or_utf32(body)):
                yield "event.body, put together", content
        case _:
            pass


def tree_texts(tree: Json, place: str = "") -> list[tuple[str, str]]:
    """The texts of a value, each with its place; JSON in them is not parsed.

    >>> tree_texts({"a": (1, "hi")})
    [('(a key)', 'a'), ('a[0]', '1'), ('a[1]', 'hi')]
    """
    found: _Found = []
    _add_leaves(found, place, tree, 0)
    return found


def leaks_with_places(
    texts: Iterable[tuple[str, str]], known: Mapping[str, str], seen: set[str] | None = None
) -> Iterator[tuple[str, Leak]]:
    """The leaks in texts, each with its place.

    :param seen: texts scanned before, which are skipped; new ones are added
    """
    yield from _leaks_among([*unseen_texts(texts, set() if seen is None else seen)], known)


def unseen_texts(texts: Iterable[tuple[str, str]], seen: set[str]) -> Iterator[tuple[str, str]]:
    """A conversation repeats its messages with each request: without this, scanning takes quadratic time."""
    for place, text in texts:
        if text in seen:
            continue
        for inside, part in _texts_in_json(place, text, _NESTED):
            if part not in seen:
                seen.add(part)
                yield inside, part
        seen.add(text)


def check_line_for_secrets(
    line: str, known: Mapping[str, str], where: str, blobs: Iterable[Blob] = ()
) -> None:
    """Patterns match random bytes by chance, so blobs are searched for known secrets only."""
    for place, leak in leaks_with_places(texts_in_journal_line(line), known):
        raise SecretFound(
            f"{where}: not written, it holds {leak.kind} at {place or 'the top'}; "
            "keep secrets out of prompts and tool results"
        )
    for blob in blobs:
        for name, value in known.items():
            if value.encode("utf-8", "replace") in blob.data:
                raise SecretFound(
                    f"{where}: not written, {blob!r} holds the value of {name}; "
                    "keep secrets out of what is attached"
                )


_Found: TypeAlias = list[tuple[str, str]]
"""Texts with their places. The walk adds to one list: generators in each other cost more than it does."""


def _texts_in_json(place: str, text: str, nested: int = 1) -> _Found:
    """The strings in JSON text, and the text itself unless it is canonical JSON."""
    found: _Found = []
    _add_text(found, place, text, nested)
    return found


def _add_text(found: _Found, place: str, text: str, nested: int) -> None:
    if "\0" in text:  # UTF-16 that was read as UTF-8
        _add_text(found, place, ascii_from_utf16_or_utf32(text), nested)
    value: Json = None
    if nested and text.lstrip()[:1] in _JSON_BEGINS:  # such JSON is never null, so None is: not JSON
        value = read_json(text).value_or(None)
    if value is not None:
        _add_leaves(found, place, value, nested - 1)
    if value is None or canonical(value) != text:
        found.append((place, text))  # parsing drops the earlier values of a duplicate key


def _add_leaves(found: _Found, place: str, value: Json, nested: int) -> None:
    # By type, most frequent first: a `match` takes twice as long, and this is most of a scan.
    if isinstance(value, str):
        if nested or "\0" in value:
            _add_text(found, place, value, nested)
        else:
            found.append((place, value))
    elif isinstance(value, dict):
        if len(value) == 2 and (packed := _base64_key_and_data_url(value)):
            part, text = packed
            found.append((f"{place}.{part}", text))
            return
        for name, item in value.items():
            key = str(name)  # a world in Python may have numbers as keys
            found.append((f"{place} (a key)" if place else "(a key)", key))
            inside = f"{place}.{key}" if place else key
            if isinstance(item, str) and names_a_secret(key):
                found.append((inside, f"{key}: {item}"))
            _add_leaves(found, inside, item, nested)
    elif isinstance(value, _ARRAYS):
        for index, item in enumerate(value):
            _add_leaves(found, f"{place}[{index}]", item, nested)
    else:
        found.append((place, str(value)))


def _base64_key_and_data_url(value: Mapping[str, Json]) -> tuple[str, str] | None:
    """The key and the text of what is Base64, unless the value is something else."""
    match value:
        case {"data": str() as base64, "format": str() as form}:  # audio in a message
            return "data", f"data:audio/{form};base64,{base64}"
        case {"blob": str(), "base64": str() as base64}:  # a line of a journal
            return "base64", f"data:;base64,{base64}"
        case _:
            return None
