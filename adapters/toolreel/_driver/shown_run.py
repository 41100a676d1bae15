"""From deltas, events and steps to the events of a streamed run; without I/O, for both drivers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, assert_never

from toolreel._driver.endpoints import server_of
from toolreel._driver.ports import Journal, Wanted, is_shown
from toolreel._driver.run_result import Run
from toolreel._driver.stream_events import (
    ConstrainedText,
    NoteMade,
    PartialAnswer,
    PartialOutput,
    ReasoningDelta,
    RunEnded,
    ShownEvent,
    TextDelta,
    TextWithdrawn,
    ToolCallDelta,
    ToolResult,
    ToolStarted,
)
from toolreel._driver.timing import Lap, Timing, record
from toolreel_core._loop import received
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalGiven,
    CancelRequested,
    Event,
    Note,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    RunTool,
    Settled,
    State,
    Step,
    ToolReturned,
    UserSpoke,
    WaitElapsed,
    Waiting,
)
from toolreel_core._replies import Delta, deltas_in

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


STOPPED: Final = "the stream of the run was closed before its end"
"""The reason of the cancellation where a stream is not read to its end."""


class ShownRun:
    """What a stream has shown of a run, and the step that it has reached."""

    def __init__(self, at: Step) -> None:
        self._at = at
        self._notes: list[Note] = []
        self._reply = self._awaited()

    def begin(self) -> list[ShownEvent]:
        """What to show before anything is performed."""
        return self._reached()

    def show(self, effect: Wanted | None, answer: Event | Delta, after: Step) -> list[ShownEvent]:
        """What to show for a delta, or for an event and the step that it led to."""
        turn = self._at.state.tally.turns
        if isinstance(answer, Delta):
            return [*self._reply.pieces(answer, turn)]
        # Reached before any of it is shown: the journal has the event already.
        before, self._at = self._at.state, after
        return [*self._answered(effect, answer, before), *self._reached()]

    def end(self, timing: Timing, performer: object) -> RunEnded[Run]:
        """The last event."""
        server = server_of(performer, self._at.state.endpoint_name)
        return RunEnded(Run(self._at.state, tuple(self._notes), timing=timing, server=server))

    def cancel(self, journal: Journal | None, stopped: BaseException, lap: Lap) -> None:
        """Record that a run was cancelled whose stream was closed or interrupted.

        An error of the run itself cancels nothing: as without a stream, the run can then be resumed.
        """
        if journal is None or isinstance(stopped, Exception) or isinstance(self._at.state.phase, Settled):
            return
        try:
            record(journal, None, CancelRequested(STOPPED), lap)
        except Exception as error:  # noqa: BLE001 - it must not take the place of what stopped the run
            warnings.warn(f"the cancellation was not recorded: {error!r}", RuntimeWarning, stacklevel=2)

    def _awaited(self) -> ShownReply:
        return ShownReply(self._at.state.present)

    def _answered(self, effect: Wanted | None, event: Event, before: State) -> list[ShownEvent]:
        turn = before.tally.turns
        match event:
            case ReplyReceived() | RequestFailed():
                if effect is not None and not is_shown(effect):
                    return []
                reply, self._reply = self._reply, self._awaited()
                return _ended(reply, event, before, self._at.state)
            case ToolReturned():
                if isinstance(effect, RunTool):
                    return [ToolResult(turn, effect.call_id, effect.name, event.output, event.parts)]
                return []
            case RunStarted() | ApprovalGiven() | WaitElapsed() | CancelRequested() | UserSpoke():
                return []
            case _:
                assert_never(event)

    def _reached(self) -> list[ShownEvent]:
        self._notes += self._at.notes
        turn = self._at.state.tally.turns
        tools = [effect for effect in self._at.effects if isinstance(effect, RunTool)]
        return [
            *(NoteMade(note) for note in self._at.notes),
            *(ToolStarted(turn, tool.call_id, tool.name, tool.arguments) for tool in tools),
        ]


def _ended(
    reply: ShownReply, event: ReplyReceived | RequestFailed, before: State, after: State
) -> list[ShownEvent]:
    """The rest of a reply: all of one of which nothing came on the way, and what of it is withdrawn."""
    turn = before.tally.turns
    if isinstance(event, RequestFailed):
        return [*reply.withdrawn(turn, str)]
    late = () if reply.anything else deltas_in(event.body, before.present.provider.wire_form, whole=True)
    rest = [event for delta in late for event in reply.pieces(delta, turn)]

    def text() -> str:
        asked_again = isinstance(after.phase, Waiting)
        return "" if asked_again else received(event.body, before).reply.content

    return [*rest, *reply.rest(turn, text), *reply.withdrawn(turn, text)]
