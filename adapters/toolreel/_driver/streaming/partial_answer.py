"""The typed value of an answer that is still being written, from its pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel._driver.streaming.events import PartialOutput, TextDelta, ToolCallDelta
from toolreel_core._jsontext import Json
from toolreel_core._plan import OutputSpec

_GROWTH: Final = 64
"""An answer is read again when it has grown by one part in this many: reading all of it at each piece would
take time that is quadratic in its length."""
_OPENERS: Final = ("{", "[", "`", "~")


class PartialAnswer:
    """What the pieces of one reply make so far."""

    def __init__(self, spec: OutputSpec) -> None:
        self._spec = spec
        self._texts: dict[int | None, list[str]] = {}
        """The pieces of the text, and of each call of the final tool, by its place."""
        self._length: dict[int | None, int] = {}
        self._next: dict[int | None, int] = {}
        """The length at which a text is read again."""
        self._shown: Json = None

    def after(self, piece: TextDelta | ToolCallDelta) -> tuple[PartialOutput, ...]:
        """The value after another piece, if it is another one than before."""
        place, text = _part(piece, self._spec.name)
        if not text:
            return ()
        self._texts.setdefault(place, []).append(text)
        length = self._length[place] = self._length.get(place, 0) + len(text)
        if length < self._next.get(place, 0):
            return ()
        self._next[place] = length + length // _GROWTH
        value = self._read("".join(self._texts[place]))
        if value is None or value == self._shown:
            return ()
        self._shown = value
        return (PartialOutput(piece.turn, value),)

    def _read(self, text: str) -> Json:
        if not text.lstrip().startswith(_OPENERS) and "{" not in text:
            return None  # words, such as "4 pins are left": the answer that is asked for is an object
        value = self._spec.partial(text)
        return value if self._spec.wrapped or isinstance(value, Mapping) else None


def _part(piece: TextDelta | ToolCallDelta, name: str) -> tuple[int | None, str]:
    """Where a piece belongs, and its text; empty if it is none of an answer."""
    match piece:
        case TextDelta():
            return None, piece.text
        case ToolCallDelta():
            return piece.index, piece.arguments if piece.name == name else ""
