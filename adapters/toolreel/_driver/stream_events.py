"""The events of a streamed run: what an application shows while the run goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from toolreel._driver.run_result import Run
from toolreel_core._conversation import Media
from toolreel_core._jsontext import Json, JsonText
from toolreel_core._protocol import Note

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
"""Everything that a streamed run yields before its end."""

StreamEvent: TypeAlias = ShownEvent | RunEnded[Run]
"""Everything that a streamed run yields."""
