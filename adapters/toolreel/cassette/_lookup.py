"""Find the recorded interaction for a request, and explain a request that has none.

Two requests are the same if method, endpoint with query, and body agree. JSON bodies are compared as
canonical text: white space does not matter, the order of keys does. Scheme, host, port and the path above the
endpoint do not matter, so that a session replays under another base URL. Where rules say what may vary
(:mod:`toolreel.cassette._vary`), both bodies are put through them first.

Most sessions send requests in the recorded order, so the first unplayed interaction is tried first, without
hashing a body. The bodies of a run come in pieces (``_conversation/blocks.py``) that the requests of a
conversation share: a piece found equal to a recorded one is remembered by its identity, so that each request
compares only its new pieces. Otherwise comparing a conversation would take quadratic time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from toolreel._secrets import scrubbed_url
from toolreel.cassette._request_diff import difference, drift
from toolreel.cassette._serializer import Interaction, as_bytes
from toolreel.cassette._vary import Compared, Vary, put_through
from toolreel_core._jsontext import canonical, read

RequestKey: TypeAlias = tuple[str, tuple[bytes, ...]]
"""Method and endpoint, and the canonical body in pieces; how it is split does not matter."""

_CHAT: Final = "/chat/completions"
_VERSION: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=/|$)")
"""A path segment with an API version, such as ``/v1`` or ``/v1beta2``."""


@lru_cache(maxsize=64)
def endpoint(url: str) -> str:
    """The part of a URL that is compared: the path from the endpoint on, and the query.

    The endpoint begins at the last ``/chat/completions``, else after the first segment with a version;
    else it is the whole path.

    >>> endpoint("https://openrouter.ai/api/v1/chat/completions")
    '/chat/completions'
    >>> endpoint("http://127.0.0.1:8000/v1/models?limit=5")
    '/models?limit=5'
    """
    parts = urlsplit(scrubbed_url(url))
    path = parts.path
    version = _VERSION.search(path)
    if _CHAT in path:
        path = path[path.rindex(_CHAT) :]
    elif version:
        path = path[version.end() :] or "/"
    return f"{path}?{parts.query}" if parts.query else path


def canonical_body(body: bytes) -> bytes:
    """The body in the form that is compared: canonical text if it is JSON, else unchanged.

    >>> canonical_body(b'{ "a": [1, 2] }')
    b'{"a":[1,2]}'
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    return read(text).map(lambda value: canonical(value).encode()).value_or(body)


def request_key(method: str, url: str, *body: bytes) -> RequestKey:
    """The key of a request.

    :param body: canonical, in one or more pieces
    """
    return f"{method.upper()} {endpoint(url)}", body


def ruled_key(name: str, compared: Compared) -> RequestKey:
    """The key of a request that was put through rules.

    It has the digest of the body: a ruled body shares no pieces with others, and those of a long conversation
    would take quadratic memory.
    """
    return name, (sha256(compared.body).digest(),)


def ruled_keys(keys: Sequence[RequestKey], rules: Sequence[Vary]) -> list[RequestKey]:
    """The keys of recorded requests after rules; without rules, unchanged."""
    if not rules:
        return [*keys]
    return [ruled_key(name, put_through(b"".join(body), rules)) for name, body in keys]


_SHORT: Final = 3
"""Pieces of a body that shares none: the part before the messages, the messages, and the part after."""


class Unplayed:
    """The interactions of a recording, each of which is played once."""

    def __init__(self, keys: Sequence[RequestKey]) -> None:
        self._keys = keys
        self._played = bytearray(len(keys))
        self._cursor = 0
        self._known: dict[int, tuple[bytes, bytes]] = {}
        """By ``id``: a piece of the last request (held, so that its id stays valid), and the recorded one."""
        self._alike: dict[tuple[str, int], list[int]] | None = None
        """Interactions by endpoint and length of the body; made when a request comes out of order."""
        self._by_text: dict[tuple[str, int], dict[bytes, deque[int]]] = {}
        """Those with the same endpoint and length, by body."""

    def find(self, key: RequestKey) -> int | None:
        """The first unplayed interaction for a request; ``None`` if there is none."""
        first = self._first_unplayed()
        if first < len(self._keys) and self._matches(self._keys[first], key):
            return first
        waiting = self._unplayed_for(key)
        while waiting and self._played[waiting[0]]:
            waiting.popleft()
        return waiting[0] if waiting else None

    def play(self, index: int) -> None:
        """Mark an interaction as played."""
        self._played[index] = True

    def holds(self, key: RequestKey) -> bool:
        """Whether a request was recorded, played or not."""
        return self._unplayed_for(key) is not None

    @property
    def left(self) -> tuple[int, ...]:
        """The unplayed interactions, counted from 0."""
        return tuple(n for n in range(self._first_unplayed(), len(self._keys)) if not self._played[n])

    def _first_unplayed(self) -> int:
        if self._cursor < len(self._keys) and self._played[self._cursor]:
            following = self._played.find(False, self._cursor)
            self._cursor = len(self._keys) if following < 0 else following
        return self._cursor

    def _matches(self, kept: RequestKey, asked: RequestKey) -> bool:
        name, body = asked
        if self._known:
            body = tuple([self._known[id(piece)][1] if id(piece) in self._known else piece for piece in body])
        if kept != (name, body):
            return (
                kept[0] == name
                and _total_size(kept[1]) == _total_size(body)
                and _starts_with(kept[1], b"".join(body))
            )
        if len(body) > _SHORT:
            self._known = {id(piece): (piece, block) for piece, block in zip(asked[1], kept[1], strict=True)}
        return True

    def _unplayed_for(self, key: RequestKey) -> deque[int] | None:
        """The interactions for a request, without some that were played; ``None`` if it was not recorded."""
        name, body = key
        if self._alike is None:
            self._alike = {}
            for index, (kept, recorded) in enumerate(self._keys):
                self._alike.setdefault((kept, _total_size(recorded)), []).append(index)
        likeness = name, _total_size(body)
        alike = self._alike.get(likeness, [])
        if len(alike) > 1:
            return self._group_by_body(likeness, alike).get(b"".join(body))
        return deque(alike) if alike and self._matches(self._keys[alike[0]], key) else None

    def _group_by_body(self, likeness: tuple[str, int], alike: list[int]) -> dict[bytes, deque[int]]:
        if likeness not in self._by_text:
            found = self._by_text[likeness] = {}
            for index in alike:
                found.setdefault(b"".join(self._keys[index][1]), deque()).append(index)
        return self._by_text[likeness]


def _total_size(pieces: Sequence[bytes]) -> int:
    return sum(map(len, pieces))


def _starts_with(pieces: Sequence[bytes], whole: bytes) -> bool:
    """Whether a body starts with the joined pieces, without joining them."""
    at = 0
    for piece in pieces:
        if not whole.startswith(piece, at):
            return False
        at += len(piece)
    return True


RERECORD: Final = "If the change is meant, record the session again"

_COMPARED: Final = 50
"""Maximum number of unplayed interactions among which the nearest is searched."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that a client sends to a recording."""

    method: str
    url: str
    body: bytes
    """Canonical, as from :func:`~toolreel.cassette._lookup.canonical_body`."""

    @property
    def name(self) -> str:
        """Method and endpoint, for messages."""
        return f"{self.method.upper()} {endpoint(self.url)}"


def named(interaction: Interaction) -> str:
    """Method and endpoint of a recorded request, for messages."""
    request = interaction["request"]
    return f"{request['method'].upper()} {endpoint(request['uri'])}"


def mismatch_text(
    asked: SentRequest,
    interactions: Sequence[Interaction],
    left: Sequence[int],
    *,
    repeated: bool,
    compared: Callable[[bytes], bytes] = canonical_body,
) -> str:
    """The message that says why a request has no answer.

    :param left: numbers of the interactions that are still unplayed
    :param repeated: whether the recording has this request, but all its answers were used
    :param compared: gives a recorded body in the form in which ``asked`` is
    """
    text = f"{asked.name} is not in the recording"
    if repeated:
        text = f"{asked.name} was recorded, but is asked for more often than that"
    total = len(interactions)
    if not left:
        return f"{text}; all {total} interactions have been played. {RERECORD}."
    index = _nearest_interaction(asked, interactions, left[:_COMPARED], compared)
    text += f"; the nearest that is still unplayed is interaction {index + 1} of {total}:\n"
    nearest = interactions[index]
    if named(nearest) != asked.name:
        change = f"first change: the endpoint\n  recorded: {named(nearest)}\n  request:  {asked.name}"
    else:
        change = drift(compared(as_bytes(nearest["request"]["body"])), asked.body)
    return f"{text}{change}\n{RERECORD}."


def _nearest_interaction(
    asked: SentRequest,
    interactions: Sequence[Interaction],
    candidates: Sequence[int],
    compared: Callable[[bytes], bytes],
) -> int:
    # Same endpoint first, then the smallest difference of the bodies.
    def likeness(index: int) -> tuple[bool, int]:
        body = as_bytes(interactions[index]["request"]["body"])
        return named(interactions[index]) == asked.name, -difference(compared(body), asked.body)

    return max(candidates, key=likeness)
