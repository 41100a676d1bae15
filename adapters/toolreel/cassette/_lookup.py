"""Find the recorded exchange for a request, and explain a request that has none.

Two requests are the same if method, endpoint with query, and body agree. JSON bodies are compared as
canonical text: white space does not matter, the order of keys does. Scheme, host, port and the path above the
endpoint do not matter, so that a session replays under another base URL. Where rules say what may vary
(:mod:`toolreel.cassette._vary`), both bodies are put through them first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from toolreel._secrets import scrubbed_url
from toolreel.cassette._vary import NOT_JSON
from toolreel_core._conversation import with_digests_for_base64
from toolreel_core._jsontext import Json, canonical, read_json

# The differences between a request and the recorded one.

ABSENT = "(absent)"
"""Stands for a value that one side does not have."""
_LISTED = 12
"""Maximum number of changed places in a message."""
_BEFORE = 30
_AFTER = 70
"""Characters before and after the first difference that an excerpt shows."""


@dataclass(frozen=True, slots=True)
class Change:
    place: str
    """Where, as in ``messages[2].content``; empty for the whole value."""
    old: str
    """The canonical text of what was recorded there, or :data:`ABSENT`."""
    new: str
    """The canonical text of what is there now, or :data:`ABSENT`."""


def changes(old: Json, new: Json, place: str = "") -> Iterator[Change]:
    before: Mapping[Any, Json]
    after: Mapping[Any, Json]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        before, after = old, new
    elif isinstance(old, list) and isinstance(new, list):
        before, after = dict(enumerate(old)), dict(enumerate(new))
    else:
        if (was := canonical(old)) != (now := canonical(new)):
            yield Change(place, was, now)
        return
    alike = True  # the order of keys is reported only where nothing else differs
    for key in dict.fromkeys([*after, *before]):
        where = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}" if place else key
        if key in before and key in after:
            found = changes(before[key], after[key], where)
        else:
            sides = (canonical(side[key]) if key in side else ABSENT for side in (before, after))
            found = iter([Change(where, *sides)])
        for change in found:
            alike = False
            yield change
    if alike and [*before] != [*after]:
        yield Change(f"{place} (order of keys)".strip(), canonical([*before]), canonical([*after]))


def first_change(old: Json, new: Json, place: str = "") -> Change | None:
    return next(changes(old, new, place), None)


def drift_text(recorded: bytes, request: bytes) -> str:
    old, new = (body.decode(errors="backslashreplace") for body in (recorded, request))
    was, now = read_json(old).value_or(NOT_JSON), read_json(new).value_or(NOT_JSON)
    found = [Change("the body", old, new)]
    if was is not NOT_JSON and now is not NOT_JSON:
        found = [*changes(with_digests_for_base64(was), with_digests_for_base64(now))]
    if not found:
        return "the bodies are the same JSON"
    lines = changed_lines(found[0])
    if others := [change.place for change in found[1:]]:
        lines += [f"also changed: {', '.join(others[:_LISTED])}{', …' * (len(others) > _LISTED)}"]
    return "\n".join(lines)


def changed_lines(change: Change, now: str = "request:") -> list[str]:
    old, new = clip_around_difference(change.old, change.new)
    return [f"first change: {change.place or 'the whole body'}", f"  recorded: {old}", f"  {now}  {new}"]


def _shared_prefix_length(one: Sequence[object], other: Sequence[object]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (was, now) in pairs if was != now), min(len(one), len(other)))


def differing_byte_count(one: bytes, other: bytes) -> int:
    common = _shared_prefix_length(one, other) + _shared_prefix_length(one[::-1], other[::-1])
    return max(len(one), len(other)) - min(common, len(one), len(other))


def clip_around_difference(old: str, new: str) -> tuple[str, str]:
    start = max(0, _shared_prefix_length(old, new) - _BEFORE)
    end = start + _BEFORE + _AFTER

    def excerpt(text: str) -> str:
        inside = text[start:end].replace("\n", "\\n")
        return f"{'…' * bool(start)}{inside}{'…' * (end < len(text))}"

    return excerpt(old), excerpt(new)


# What is compared of a request.

RequestKey: TypeAlias = tuple[str, bytes]
"""Method and endpoint, and the digest of the body as it is compared."""

_CHAT = "/chat/completions"
_VERSION = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=/|$)")
"""A path segment with an API version, such as ``/v1`` or ``/v1beta2``."""


@lru_cache(maxsize=64)
def compared_endpoint(url: str) -> str:
    """From the last ``/chat/completions``, else after the first segment with a version, else all."""
    parts = urlsplit(scrubbed_url(url))
    path = parts.path
    version = _VERSION.search(path)
    if _CHAT in path:
        path = path[path.rindex(_CHAT) :]
    elif version:
        path = path[version.end() :] or "/"
    return f"{path}?{parts.query}" if parts.query else path


def canonical_body(body: bytes) -> bytes:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    return read_json(text).map(lambda value: canonical(value).encode()).value_or(body)


def request_name(method: str, url: str) -> str:
    return f"{method.upper()} {compared_endpoint(url)}"


def request_key(name: str, pieces: Iterable[bytes]) -> RequestKey:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return name, digest.digest()


RERECORD = "If the change is meant, record the session again"
