"""From deltas, events and steps to the events of a streamed run; without I/O, for both drivers."""

from __future__ import annotations

import warnings
from typing import Final, TypeGuard, assert_never

from toolreel._driver.ports import Journal, Wanted
from toolreel._driver.run_result import Run
from toolreel._driver.streaming.events import NoteMade, RunEnded, ShownEvent, ToolResult, ToolStarted
from toolreel._driver.streaming.shown_reply import ShownReply
from toolreel._driver.timing import Lap, Timing, record
from toolreel_core._loop import received
from toolreel_core._protocol import (
    ApprovalGiven,
    CancelRequested,
    Event,
    Note,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    RunTool,
    SendRequest,
    Settled,
    State,
    Step,
    ToolReturned,
    UserSpoke,
    WaitElapsed,
    Waiting,
)
from toolreel_core._replies import Delta, deltas_in

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

    def end(self, timing: Timing) -> RunEnded[Run]:
        """The last event."""
        return RunEnded(Run(self._at.state, tuple(self._notes), timing=timing))

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


def is_shown(effect: Wanted) -> TypeGuard[SendRequest]:
    """Whether an effect is a request whose reply is shown; nobody is shown a summary for the model."""
    return isinstance(effect, SendRequest) and effect.purpose == "turn"


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
