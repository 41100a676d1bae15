"""Values of answers that are still being written, in streams."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolreel import Completed, LoopConfig, Plan, Ports, PythonTools, output_of, stream
from toolreel._driver import PartialAnswer, ToolCallDelta
from toolreel.stream_events import PartialOutput, RunEnded, StreamEvent, TextDelta, TextWithdrawn
from toolreel.testing import ScriptedEndpoint, calling, streaming
from toolreel_core import Json, OutputSpec

OBJECT = {"type": "object", "properties": {"part": {"type": "string"}, "count": {"type": "integer"}}}


def look(at: str) -> str:
    """Look at something."""
    return at


def events_of(*script: object, output: object = OBJECT, **settings: object) -> list[StreamEvent]:
    tools = PythonTools([look])
    plan = Plan.of(
        model="m",
        messages="?",
        tools=tools.surface,
        output=None if output is None else output_of(output).spec,
        config=LoopConfig(stream="always", **settings),  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    )
    return [*stream(plan, Ports(ScriptedEndpoint(script), tools))]  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def partial(events: list[StreamEvent]) -> list[Json]:
    return [event.value for event in events if isinstance(event, PartialOutput)]


def test_a_value_grows_with_the_text_and_ends_as_that_of_the_run() -> None:
    events = events_of(streaming('{"part": "p', 'in", "cou', 'nt": 4', "}"))
    values: list[Json] = [{"part": "p"}, {"part": "pin"}, {"part": "pin", "count": 4}]
    assert partial(events) == values
    assert isinstance(events[-1], RunEnded)
    outcome = events[-1].run.outcome
    assert isinstance(outcome, Completed)
    assert outcome.value is not None
    assert json.loads(outcome.value) == values[-1]
    kinds = [type(event) for event in events if isinstance(event, (TextDelta, PartialOutput, TextWithdrawn))]
    assert kinds == [TextDelta, PartialOutput, TextDelta, PartialOutput, TextDelta, TextDelta, PartialOutput]


def test_a_value_is_read_from_the_arguments_of_the_final_tool_and_of_no_other() -> None:
    events = events_of(calling(("look", {"at": "x"})), calling(("final_answer", {"part": "pin", "count": 4})))
    assert partial(events) == [{"part": "pin", "count": 4}]
    assert [event.turn for event in events if isinstance(event, PartialOutput)] == [2]


def test_a_wrapped_value_is_shown_without_its_wrapper() -> None:
    assert partial(events_of(streaming('{"value": ["a', '", "b"]}'), output=list[str])) == [
        ["a"],
        ["a", "b"],
    ]


@given(
    st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.lists(st.integers()), min_size=1),
    st.integers(1, 9),
    st.booleans(),
)
def test_the_last_value_is_the_whole_one_however_it_is_cut(
    value: dict[str, Json], size: int, called: bool
) -> None:
    answer, text = PartialAnswer(OutputSpec.of({"type": "object"})), json.dumps(value)
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    pieces = [
        ToolCallDelta(1, 0, "a", "final_answer", piece) if called else TextDelta(1, piece) for piece in cut
    ]
    shown = [event.value for piece in pieces for event in answer.add_piece(piece)]
    assert all(one != other for one, other in pairwise(shown))
    if len(text) < 64:
        assert shown[-1] == value


def test_a_long_answer_is_not_read_again_at_each_piece() -> None:
    read = list[int]()

    class Counting:
        """A spec that counts what it reads."""

        name, wrapped = "final_answer", False

        def partial(self, text: str) -> Json:
            read.append(len(text))
            return {"words": len(text)}

    spec: Any = Counting()
    answer, whole = PartialAnswer(spec), 0
    for piece in ('{"words": [', *['"word", '] * 8_000):
        whole += len(piece)
        answer.add_piece(TextDelta(1, piece))
    assert whole < sum(read) < 80 * whole  # at each piece: 4,000 times
    assert whole - read[-1] <= whole / 64


def test_of_constrained_replies_the_answer_is_shown_at_its_end_and_nothing_of_the_json() -> None:
    events = events_of(
        streaming('{"name": "lo', 'ok", "arguments": {"at": "the sea"}}'),
        streaming('{"name": "final_answer", "arg', 'uments": {"answer": "It is', " bl", 'ue."}}'),
        output=None,
        constrained_calls="response_format",
    )
    shown = [event for event in events if isinstance(event, TextDelta | TextWithdrawn)]
    assert shown == [TextDelta(2, "It is blue.")]
