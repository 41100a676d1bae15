"""Find the recorded exchange for a request, and explain a request that has none.

Two requests are the same if method, endpoint with query, and body agree. JSON bodies are compared as
canonical text: white space does not matter, the order of keys does. Scheme, host, port and the path above the
endpoint do not matter, so that a session replays under another base URL. Where rules say what may vary
(:mod:`toolreel.cassette._vary`), both bodies are put through them first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from toolreel._secrets import scrubbed_url
from toolreel.cassette._request_diff import difference, drift
from toolreel.cassette._stored_exchange import Exchange
from toolreel_core._jsontext import canonical, read

RequestKey: TypeAlias = tuple[str, tuple[bytes, ...]]
"""Method and endpoint, and the body as it is compared, in pieces; how it is split does not matter."""

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


def request_name(method: str, url: str) -> str:
    """Method and endpoint of a request, as they are compared and shown."""
    return f"{method.upper()} {endpoint(url)}"


class Unplayed:
    """The requests of a recording, each of which is played once."""

    def __init__(self, keys: Sequence[RequestKey]) -> None:
        self._keys = keys
        self._left: dict[int, None] = dict.fromkeys(range(len(keys)))
        self._places: dict[tuple[str, bytes], list[int]] | None = None
        """Where each request was recorded, by digest; made when a request comes out of order."""

    def find(self, key: RequestKey) -> int | None:
        """The first unplayed place of a request; ``None`` if there is none."""
        first = next(iter(self._left), None)
        # Most sessions send requests in the recorded order.
        if first is not None and _in_one_piece(self._keys[first]) == _in_one_piece(key):
            return first
        return next((place for place in self._places_of(key) if place in self._left), None)

    def play(self, place: int) -> None:
        """Mark a request as played."""
        del self._left[place]

    def holds(self, key: RequestKey) -> bool:
        """Whether a request was recorded, played or not."""
        return bool(self._places_of(key))

    @property
    def left(self) -> tuple[int, ...]:
        """The unplayed places, counted from 0."""
        return tuple(self._left)

    def _places_of(self, key: RequestKey) -> Sequence[int]:
        if self._places is None:
            self._places = {}
            for place, recorded in enumerate(self._keys):
                self._places.setdefault(_digest(recorded), []).append(place)
        return self._places.get(_digest(key), ())


def _in_one_piece(key: RequestKey) -> tuple[str, bytes]:
    return key[0], b"".join(key[1])


def _digest(key: RequestKey) -> tuple[str, bytes]:
    return key[0], sha256(b"".join(key[1])).digest()


RERECORD: Final = "If the change is meant, record the session again"

_COMPARED: Final = 50
"""Maximum number of unplayed exchanges among which the nearest is searched."""


def mismatch_text(
    name: str,
    body: bytes,
    exchanges: Sequence[Exchange],
    left: Sequence[int],
    *,
    repeated: bool,
    compared: Callable[[bytes], bytes],
) -> str:
    """The message that says why a request has no answer.

    :param name: method and endpoint
    :param body: as it is compared
    :param left: places of the exchanges that are still unplayed
    :param repeated: whether the recording has this request, but all its answers were used
    :param compared: gives a recorded body in the form in which it is compared
    """
    text = f"{name} is not in the recording"
    if repeated:
        text = f"{name} was recorded, but is asked for more often than that"
    total = len(exchanges)
    if not left:
        return f"{text}; all {total} interactions have been played. {RERECORD}."

    def likeness(one: Exchange) -> tuple[bool, int]:
        """The same endpoint first, then the smallest difference of the bodies."""
        return request_name(one.method, one.url) == name, -difference(compared(one.body), body)

    nearest = max((exchanges[place] for place in left[:_COMPARED]), key=likeness)
    text += f"; the nearest that is still unplayed is {nearest.name} of {total}:\n"
    recorded = request_name(nearest.method, nearest.url)
    if recorded != name:
        change = f"first change: the endpoint\n  recorded: {recorded}\n  request:  {name}"
    else:
        change = drift(compared(nearest.body), body)
    return f"{text}{change}\n{RERECORD}."
