"""What of a recording is still to be played, and which of it a request gets.

Most sessions are asked for in the order in which they were recorded, so the first that is left is looked at
first, and nothing is hashed for that. A run has its bodies in pieces (``_conversation/blocks.py``),
whose blocks all requests of a conversation share: one that was found to say the same as a recorded one is
known by its identity after that, so that only what has joined since is compared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from toolreel.cassette._request_key import RequestKey

__all__ = ["Unplayed"]

_SHORT: Final = 3
"""Pieces of a body that shares none with others: what stands before the messages, they, and what follows."""


class Unplayed:
    """The interactions of a recording, each of which is played once.

    :param keys: of the interactions, in their order
    """

    def __init__(self, keys: Sequence[RequestKey]) -> None:
        self._keys = keys
        self._played = bytearray(len(keys))
        self._cursor = 0
        self._known: dict[int, tuple[bytes, bytes]] = {}
        """By ``id``, the pieces of the last request, and the recorded ones that say the same."""
        self._alike: dict[tuple[str, int], list[int]] | None = None
        """By endpoint and length of the body, what else could be meant; made when somebody asks for it."""
        self._told_apart: dict[tuple[str, int], dict[bytes, deque[int]]] = {}
        """The same by bodies, where several are of one length."""

    def find(self, key: RequestKey) -> int | None:
        """The first interaction with a request that has not been played; ``None`` if there is none."""
        first = self._first()
        if first < len(self._keys) and self._is(self._keys[first], key):
            return first
        waiting = self._waiting(key)
        while waiting and self._played[waiting[0]]:
            waiting.popleft()
        return waiting[0] if waiting else None

    def play(self, index: int) -> None:
        """Count an interaction as played."""
        self._played[index] = True

    def holds(self, key: RequestKey) -> bool:
        """Whether a request was recorded, played or not."""
        return self._waiting(key) is not None

    @property
    def left(self) -> tuple[int, ...]:
        """What was not played yet, counted from 0."""
        return tuple(n for n in range(self._first(), len(self._keys)) if not self._played[n])

    def _first(self) -> int:
        if self._cursor < len(self._keys) and self._played[self._cursor]:
            following = self._played.find(False, self._cursor)
            self._cursor = len(self._keys) if following < 0 else following
        return self._cursor

    def _is(self, kept: RequestKey, asked: RequestKey) -> bool:
        name, body = asked
        if self._known:
            body = tuple([self._known[id(piece)][1] if id(piece) in self._known else piece for piece in body])
        if kept != (name, body):
            return kept[0] == name and _size(kept[1]) == _size(body) and _says(kept[1], b"".join(body))
        if len(body) > _SHORT:
            self._known = {id(piece): (piece, block) for piece, block in zip(asked[1], kept[1], strict=True)}
        return True

    def _waiting(self, key: RequestKey) -> deque[int] | None:
        """The interactions with a request, but for some that were played; ``None`` if there never was one."""
        name, body = key
        if self._alike is None:
            self._alike = {}
            for index, (kept, recorded) in enumerate(self._keys):
                self._alike.setdefault((kept, _size(recorded)), []).append(index)
        likeness = name, _size(body)
        alike = self._alike.get(likeness, [])
        if len(alike) > 1:
            return self._by_body(likeness, alike).get(b"".join(body))
        return deque(alike) if alike and self._is(self._keys[alike[0]], key) else None

    def _by_body(self, likeness: tuple[str, int], alike: list[int]) -> dict[bytes, deque[int]]:
        if likeness not in self._told_apart:
            found = self._told_apart[likeness] = {}
            for index in alike:
                found.setdefault(b"".join(self._keys[index][1]), deque()).append(index)
        return self._told_apart[likeness]


def _size(pieces: Sequence[bytes]) -> int:
    return sum(map(len, pieces))


def _says(pieces: Sequence[bytes], whole: bytes) -> bool:
    """Whether the pieces are the beginning of a body that is no shorter than they are."""
    at = 0
    for piece in pieces:
        if not whole.startswith(piece, at):
            return False
        at += len(piece)
    return True
