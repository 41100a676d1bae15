"""A streamed run: the events that an application shows, and how they are made of deltas, events and steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, assert_never

from toolreel._driver.ports import Wanted, is_turn_request
from toolreel._driver.progress import Progress
from toolreel._driver.run_result import Run
from toolreel_core._conversation import Media
from toolreel_core._jsontext import Json, JsonText
from toolreel_core._loop import parse_reply_body
from toolreel_core._plan import OutputSpec
from toolreel_core._protocol import (
    Event,
    Note,
    ReplyReceived,
    RequestFailed,
    RunTool,
    State,
    ToolReturned,
    Waiting,
)
from toolreel_core._replies import Delta, deltas_in

_Run_co = TypeVar("_Run_co", bound=Run, covariant=True)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the model's text, as it arrives; never empty."""

    turn: int
    """The turn of the model, counted from 1; a retry of a request belongs to the same turn."""
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning, as it arrives; never empty."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call that the model is writing; for display, since nothing of it is checked yet."""

    turn: int
    index: int
    """The call's place among those of the reply, counted from 0."""
    call_id: str
    """The id that the provider has given it so far; empty if none."""
    name: str
    """The name that the model has written so far."""
    arguments: str
    """The next piece of the arguments; empty where only id and name are new."""


@dataclass(frozen=True, slots=True)
class PartialOutput:
    """What there is so far of the value that the model is writing, where the plan has an output.

    For display: nothing of it is checked against the schema yet. A later one of the same turn, or of a later
    turn, takes its place; the final value is that of the run.
    """

    turn: int
    value: Json


@dataclass(frozen=True, slots=True)
class TextWithdrawn:
    """The text that was shown in this turn is not the reply's: show ``text`` in its place.

    It was a tool call written as text, a transform took it away, or the request failed and may be sent again.
    Text that comes after this event in the same turn is that of the next attempt.
    """

    turn: int
    text: str
    """What remains, often nothing."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins to run; it has passed every check."""

    turn: int
    call_id: str
    name: str
    """The tool's inner name, such as ``files.read``."""
    arguments: JsonText
    """A JSON object."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool call has ended. Of calls that run together, the results come in the order of the calls."""

    turn: int
    call_id: str
    name: str
    output: str
    """JSON text, as the tool returned it: an envelope (``{"ok": ...}``), an object or any other value."""
    parts: tuple[Media, ...] = ()
    """The images, audio and files that the tool gave; the output says where each was, by its label."""


@dataclass(frozen=True, slots=True)
class NoteMade:
    """The run made a decision."""

    note: Note


@dataclass(frozen=True, slots=True)
class RunEnded(Generic[_Run_co]):
    """The run has ended or rests; always the last event."""

    run: _Run_co
    """As ``run`` would have returned it."""


ShownEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolCallDelta
    | PartialOutput
    | TextWithdrawn
    | ToolStarted
    | ToolResult
    | NoteMade
)

StreamEvent: TypeAlias = ShownEvent | RunEnded[Run]
"""Everything that a streamed run yields."""

STREAM_CLOSED = "the stream of the run was closed before its end"
"""The reason of the cancellation where a stream is not read to its end."""
_GROWTH = 64
"""An answer is read again when it has grown by one part in this many: reading all of it at each piece would
take time that is quadratic in its length."""
# Of JSON, and of the fences around it.
_OPENERS = ("{", "[", "`", "~")


class PartialAnswer:
    """The value of a typed answer, as far as the pieces of a reply make it."""

    def __init__(self, spec: OutputSpec) -> None:
        self._spec = spec
        self._texts: defaultdict[int | None, str] = defaultdict(str)
        """The text of the reply, and of each call of the final tool, by its place."""
        self._next: defaultdict[int | None, int] = defaultdict(int)
        """The length at which a text is read again."""
        self._last_value: Json = None

    def add_piece(self, piece: TextDelta | ToolCallDelta) -> tuple[PartialOutput, ...]:
        place, text = None, ""
        if isinstance(piece, TextDelta):
            text = piece.text
        elif piece.name == self._spec.name:
            place, text = piece.index, piece.arguments
        self._texts[place] = whole = self._texts[place] + text
        if not text or len(whole) < self._next[place]:
            return ()
        self._next[place] = len(whole) + len(whole) // _GROWTH
        # A text in words, such as "4 pins are left", would be read as the JSON number 4.
        if not (whole.lstrip().startswith(_OPENERS) or "{" in whole):
            return ()
        value = self._spec.partial(whole)
        is_answer = self._spec.wrapped or isinstance(value, Mapping)
        if value is None or value == self._last_value or not is_answer:
            return ()
        self._last_value = value
        return (PartialOutput(piece.turn, value),)


class ShownRun:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._state = progress.at.state
        self._begin_reply()

    def _begin_reply(self) -> None:
        plan = self._state.present
        self._answer = None if plan.output is None else PartialAnswer(plan.output)
        self._is_constrained = plan.constrains_calls
        self._text, self._is_empty = "", True
        self._calls: list[tuple[str, str]] = []
        """Id and name of each call of the reply, as far as they are known."""
        self._place: dict[int, int] = {}
        """The latest call under each index that the server has given."""

    def events_of_step(self) -> list[ShownEvent]:
        turn, at = self._state.tally.turns, self._progress.at
        tools = [effect for effect in at.effects if isinstance(effect, RunTool)]
        return [
            *(NoteMade(note) for note in at.notes),
            *(ToolStarted(turn, tool.call_id, tool.name, tool.arguments) for tool in tools),
        ]

    def events_of_answer(self, effect: Wanted | None, answer: Event | Delta) -> list[ShownEvent]:
        before = self._state
        turn, shown = before.tally.turns, list[ShownEvent]()
        if isinstance(answer, Delta):
            return [*self._events_of_delta(answer, turn)]
        self._state = self._progress.at.state
        if isinstance(answer, ReplyReceived | RequestFailed) and (effect is None or is_turn_request(effect)):
            shown = self._closing_events(answer, before)
            self._begin_reply()
        elif isinstance(answer, ToolReturned) and isinstance(effect, RunTool):
            shown = [ToolResult(turn, effect.call_id, effect.name, answer.output, answer.parts)]
        return [*shown, *self.events_of_step()]

    def _events_of_delta(self, delta: Delta, turn: int) -> Sequence[ShownEvent]:
        self._is_empty = False
        piece: TextDelta | ToolCallDelta
        match delta.kind:
            case "reasoning":
                return (ReasoningDelta(turn, delta.text),)
            case "content":
                if self._is_constrained:  # JSON of a call; an answer in it is shown at the end
                    return ()
                self._text += delta.text
                piece = TextDelta(turn, delta.text)
            case "tool_call":
                # The first text of a call is its name.
                piece = ToolCallDelta(
                    turn, *self._assign_delta_to_call(delta), "" if delta.name else delta.text
                )
            case _:
                assert_never(delta.kind)
        return (piece, *self._answer.add_piece(piece)) if self._answer else (piece,)

    def _assign_delta_to_call(self, delta: Delta) -> tuple[int, str, str]:
        """Some servers give every call the index 0, so another id or another name begins another call."""
        # su-kaka/gcli2api#406 with ids, unslothai/unsloth#10059 without.
        place = self._place.get(delta.index)
        id_, name = ("", "") if place is None else self._calls[place]
        if delta.call_id and id_:
            is_another = delta.call_id != id_
        else:
            is_another = bool(delta.name and name and delta.name != name)
        if place is None or is_another:
            place, id_, name = len(self._calls), "", ""
            self._place[delta.index] = place
            self._calls.append((id_, name))
        self._calls[place] = known = id_ or delta.call_id, name or delta.name
        return place, *known

    def _closing_events(self, event: ReplyReceived | RequestFailed, before: State) -> list[ShownEvent]:
        """The rest of the reply: all of one of which nothing came on the way, and what of it is withdrawn."""
        turn, more = before.tally.turns, list[ShownEvent]()
        if self._is_empty and isinstance(event, ReplyReceived):
            for delta in deltas_in(event.body, before.present.provider.wire_form, whole=True):
                more += self._events_of_delta(delta, turn)
        if self._is_empty or not (self._text.strip() or self._is_constrained):
            return more
        text = ""
        if isinstance(event, ReplyReceived) and not isinstance(self._state.phase, Waiting):
            text = parse_reply_body(event.body, before).reply.content
        if self._is_constrained and text:
            more.append(TextDelta(turn, text))
        elif self._text.strip() and text.strip() != self._text.strip():
            more.append(TextWithdrawn(turn, text))
        return more
