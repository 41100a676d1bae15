"""Removes from request bodies the messages that the previous body had already.

Each request of a conversation repeats its history, so scanning all bodies completely takes quadratic time.
Two canonical bodies with a common prefix have the same messages in it; without them, a body is still JSON,
with the new messages only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from toolreel_core._jsontext import Json, canonical, quote


class SharedBeginnings:
    """Remembers the last body of a conversation, and finds the common prefix of the next one."""

    def __init__(self) -> None:
        self._last = b""
        """The last body up to the end of its last message."""
        self._start = 0
        """Offset of its first message."""
        self._ends: list[int] = []
        """Offsets of the ends of its messages."""

    def without(self, body: bytes) -> tuple[bytes, int]:
        """The body without the messages that it shares with the last one, and their number.

        The result is canonical JSON if and only if the whole body is.
        """
        same = self._in_common(body)
        end = self._ends[same - 1] if same else 0
        after = body[end : end + 1]
        # Any other byte means that the prefix ends inside a message.
        if not same or after not in {b",", b"]"}:
            return body, 0
        return body[: self._start] + body[end + (after == b",") :], same

    def learn(self, body: bytes, same: int, tree: Mapping[str, Json], new: list[Json]) -> None:
        """Remember a body that is canonical JSON.

        :param same: number of messages that :meth:`without` removed
        :param tree: the body without them, parsed
        :param new: the messages in ``tree``
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
        """The number of messages at the beginning that both bodies share."""
        ends, last = self._ends, self._last
        if body.startswith(last):
            return len(ends)
        # Bisection: if the first n messages agree, so do all fewer.
        return bisect_left(range(len(ends)), True, key=lambda n: body[: ends[n]] != last[: ends[n]])


def _start(tree: Mapping[str, Json]) -> int:
    """The offset of the first message in the canonical text of a tree, in bytes."""
    before = 1
    for key, value in tree.items():
        if key == "messages":
            break
        before += len(f"{quote(key)}:{canonical(value)},".encode())
    return before + len('"messages":[')
