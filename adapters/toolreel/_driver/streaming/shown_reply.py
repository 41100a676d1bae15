"""What a stream has shown of the reply that is under way, so that it can be withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, assert_never

from toolreel._driver.streaming.events import (
    PartialOutput,
    ReasoningDelta,
    TextDelta,
    TextWithdrawn,
    ToolCallDelta,
)
from toolreel._driver.streaming.partial_answer import ConstrainedText, PartialAnswer
from toolreel_core._plan import Plan
from toolreel_core._replies import Delta

ShownPiece: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta | PartialOutput


class ShownReply:
    """The pieces of one reply that were shown."""

    def __init__(self, plan: Plan) -> None:
        self._answer = None if plan.output is None else PartialAnswer(plan.output)
        self._constrained = ConstrainedText(plan) if plan.constrains_calls else None
        self._text: list[str] = []
        self._calls: list[tuple[str, str]] = []
        """Id and name of each call, as far as they are known."""
        self._place: dict[int, int] = {}
        """The latest call under each index that the server has given."""
        self.anything = False
        """Whether there was any piece at all."""

    def pieces(self, delta: Delta, turn: int) -> Iterator[ShownPiece]:
        """The events for the next piece."""
        piece = self._piece(delta, turn)
        if self._constrained is not None and isinstance(piece, TextDelta):
            yield from map(self._kept, self._constrained.after(piece))
            return
        yield self._kept(piece)
        if self._answer is not None and not isinstance(piece, ReasoningDelta):
            yield from self._answer.after(piece)

    def _piece(self, delta: Delta, turn: int) -> TextDelta | ReasoningDelta | ToolCallDelta:
        self.anything = True
        match delta.kind:
            case "content":
                return TextDelta(turn, delta.text)
            case "reasoning":
                return ReasoningDelta(turn, delta.text)
            case "tool_call":
                place, id_, name = self._call(delta)
                return ToolCallDelta(turn, place, id_, name, "" if delta.name else delta.text)
            case _:
                assert_never(delta.kind)

    def _kept(self, piece: ShownPiece) -> ShownPiece:
        if isinstance(piece, TextDelta):
            self._text.append(piece.text)
        return piece

    def rest(self, turn: int, whole: Callable[[], str]) -> tuple[TextDelta, ...]:
        """The end of an answer by a constrained call that was not shown yet.

        :param whole: the text of the reply
        """
        if self._constrained is None or not self.anything:
            return ()
        text, shown = whole(), "".join(self._text)
        rest = text[len(shown) :] if text.startswith(shown) else ""
        return (TextDelta(turn, self._kept_text(rest)),) if rest else ()

    def _kept_text(self, text: str) -> str:
        self._text.append(text)
        return text

    def withdrawn(self, turn: int, remains: Callable[[], str]) -> tuple[TextWithdrawn, ...]:
        """What to say at the end of the reply if the text that was shown is not its text.

        :param remains: the text of the reply; not asked for if no text was shown
        """
        shown = "".join(self._text).strip()
        if not shown or (text := remains()).strip() == shown:
            return ()
        return (TextWithdrawn(turn, text),)

    def _call(self, delta: Delta) -> tuple[int, str, str]:
        """Place, id and name of the call of a piece.

        Some servers give every call the index 0, so another id or another name begins another call.
        """
        place = self._place.get(delta.index)
        if place is None or self._is_another(place, delta):
            place = self._place[delta.index] = len(self._calls)
            self._calls.append((delta.call_id, delta.name))
        id_, name = self._calls[place]
        self._calls[place] = known = id_ or delta.call_id, name or delta.name
        return place, *known

    def _is_another(self, place: int, delta: Delta) -> bool:
        id_, name = self._calls[place]
        if delta.call_id and id_:
            return delta.call_id != id_
        return bool(delta.name and name and delta.name != name)
