"""Request bodies of a conversation, read without what the body before them said already.

Each request of a conversation repeats its history, so that reading all bodies of a file whole costs
the square of its length. What two canonical bodies have in common up to the end of a message is the
same in both; without it, a body is still JSON, of which only the new messages are left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from toolreel_core._jsontext.canonical import Json, canonical, quote

__all__ = ["SharedBeginnings"]


class SharedBeginnings:
    """Knows the last body of a conversation, and what the next one has in common with it."""

    def __init__(self) -> None:
        self._last = b""
        """From its beginning to the end of its last message."""
        self._start = 0
        """Where its first message begins."""
        self._ends: list[int] = []
        """Where each of its messages ends."""

    def without(self, body: bytes) -> tuple[bytes, int]:
        """The body without its first messages, as far as the last one had them, and how many they are.

        If it is canonical JSON, the whole body is; if not, neither is the whole body.
        """
        same = self._in_common(body)
        end = self._ends[same - 1] if same else 0
        after = body[end : end + 1]
        if not same or after not in {b",", b"]"}:
            return body, 0
        return body[: self._start] + body[end + (after == b",") :], same

    def learn(self, body: bytes, same: int, tree: Mapping[str, Json], new: list[Json]) -> None:
        """Go on from a body that is canonical JSON.

        :param same: how many messages were left out of ``tree``, as :meth:`without` said
        :param tree: what it says without them
        :param new: the messages in it
        """
        if not same:
            self._start = _start(tree)
        self._ends[same:] = []
        at = self._ends[-1] + 1 if same else self._start
        for message in new:
            at += len(canonical(message).encode())
            self._ends.append(at)
            at += 1
        self._last = body[: self._ends[-1]]

    def _in_common(self, body: bytes) -> int:
        """How many messages of the last body are the first of this one, too."""
        ends, last = self._ends, self._last
        if body.startswith(last):
            return len(ends)
        return bisect_left(range(len(ends)), True, key=lambda n: body[: ends[n]] != last[: ends[n]])


def _start(tree: Mapping[str, Json]) -> int:
    """Where the first message stands in the canonical text of a tree, in bytes."""
    before = 1
    for key, value in tree.items():
        if key == "messages":
            break
        before += len(f"{quote(key)}:{canonical(value)},".encode())
    return before + len('"messages":[')
