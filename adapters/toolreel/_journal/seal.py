"""The seal: the last line of a journal that was closed, ``{"digest", "end"}``.

It has the SHA-256 of all bytes before it and the number of events, so a file that was changed afterwards is
not read as another run. The journal of a killed run has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from toolreel._internal import JournalError
from toolreel_core._jsontext import canonical, read

_BLOB: Final = b'{"blob":'
"""What a line with a blob begins with."""


class Sealing:
    """The digest of a journal that is being written."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._lines = 0

    def take(self, lines: bytes) -> None:
        """Add what was written: whole lines."""
        self._digest.update(lines)
        blobs = lines.count(b"\n" + _BLOB) + lines.startswith(_BLOB)
        self._lines += lines.count(b"\n") - blobs

    @property
    def line(self) -> bytes:
        """The seal of all lines so far, with its line end."""
        return (canonical({"digest": self._digest.hexdigest(), "end": self._lines - 1}) + "\n").encode()


def sealed(text: str) -> bytes:
    """The content of a file for the text of a whole journal.

    >>> sealed("{}" + chr(10)).splitlines()[-1]
    b'{"digest":"ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356","end":0}'
    """
    content, seal = text.encode(), Sealing()
    seal.take(content)
    return content + seal.line


def unsealed(text: str, source: str) -> str:
    """The text without its seal, if it has one.

    :raises JournalError: if the seal does not fit; names its line and says what to do
    """
    before, end, last = text.removesuffix("\n").rpartition("\n")
    if not text.endswith("\n") or not _is_seal(last):
        return text
    before += end
    if sealed(before) != text.encode():
        raise JournalError(
            f"{source}, line {before.count(chr(10)) + 1}: the lines before this seal are not those that were "
            "recorded; restore the file or record it again (if the change is meant, delete this line)"
        )
    return before


def _is_seal(line: str) -> bool:
    tree = read(line).value_or(None)
    return isinstance(tree, Mapping) and set(tree) == {"digest", "end"}
