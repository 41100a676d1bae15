"""What watchers are told: effects and replies, events of streams, and what is there of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from toolreel._driver.run_result import Run
from toolreel_core._conversation import Media
from toolreel_core._jsontext import Json, JsonText, partial_value
from toolreel_core._plan import ANSWER, ANSWER_TOOL, OutputSpec, Plan
from toolreel_core._protocol import Note

# The events of a streamed run: what an application shows while the run goes on.


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


# An answer that is still being written, from its pieces: a typed value, or a constrained call.


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


class ConstrainedText:
    """What is shown of the text of one reply: the answer in it, and nothing of the calls of tools."""

    def __init__(self, plan: Plan) -> None:
        self._output = plan.output
        self._name = ANSWER_TOOL.name if plan.output is None else plan.output.name
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
