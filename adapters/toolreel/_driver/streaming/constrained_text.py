"""The answer in a reply whose decoding is constrained, which is the JSON of a call, from its pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel._driver.streaming.events import PartialOutput, TextDelta
from toolreel_core._jsontext import Json, partial_value
from toolreel_core._plan import ANSWER, Plan

_GROWTH: Final = 64
"""A reply is read again when it has grown by one part in this many; see ``PartialAnswer``."""


class ConstrainedText:
    """What is shown of the text of one reply: the answer in it, and nothing of the calls of tools."""

    def __init__(self, plan: Plan) -> None:
        self._output = plan.output
        self._name = plan.callable_tools.names[-1]
        self._pieces: list[str] = []
        self._length = 0
        self._next = 0
        self._text = ""
        """What of an answer in text was shown."""
        self._value: Json = None
        """The value that was shown last, if the answer has one."""

    def after(self, piece: TextDelta) -> tuple[TextDelta | PartialOutput, ...]:
        """What to show after another piece; words that are no JSON are shown as they are."""
        self._pieces.append(piece.text)
        self._length += len(piece.text)
        if not self._is_json():
            return (piece,)
        if self._length < self._next:
            return ()
        self._next = self._length + self._length // _GROWTH
        answer = self._answer()
        if answer is None:
            return ()
        if self._output is not None:
            value = self._output.value_so_far(answer)
            if value is None or value == self._value:
                return ()
            self._value = value
            return (PartialOutput(piece.turn, value),)
        text, shown = answer.get(ANSWER), self._text
        if not isinstance(text, str) or len(text) <= len(shown):
            return ()
        self._text = text
        return (TextDelta(piece.turn, text[len(shown) :]),)

    def _is_json(self) -> bool:
        head = next((text for piece in self._pieces if (text := piece.strip())), "")
        return not head or head.startswith("{")

    def _answer(self) -> Mapping[str, Json] | None:
        """The arguments of the final call, as far as they are written; ``None`` for any other call."""
        tree = partial_value("".join(self._pieces))
        if not isinstance(tree, Mapping) or tree.get("name") != self._name:
            return None
        arguments = tree.get("arguments")
        return arguments if isinstance(arguments, Mapping) else None
