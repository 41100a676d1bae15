from __future__ import annotations

from typing import Any, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, field_validator

from tests.samples import complaint
from toolreel import Completed, ConfigError, Plan, Ports, output_of, run
from toolreel.errors import OutputError
from toolreel.testing import ScriptedEndpoint, ScriptedTools, saying
from toolreel_core import Json
from toolreel_core._jsontext import JsonText, canonical
from toolreel_core._protocol import MaxTurns


class Point(BaseModel):
    x: int
    y: int = 0

    @field_validator("x")
    @classmethod
    def not_13(cls, x: int) -> int:
        if x == 13:
            raise ValueError("no 13, please")
        return x


class Node(msgspec.Struct):
    name: str
    below: list[Node] = []


class Stock(TypedDict):
    part: str
    count: int


CASES: list[tuple[Any, Json, object]] = [
    (Point, {"x": 1}, Point(x=1)),
    (dict[str, Point], {"a": {"x": 1}}, {"a": Point(x=1)}),
    (Stock, {"part": "pin", "count": 4}, {"part": "pin", "count": 4}),
    (int | None, None, None),
    (Node, {"name": "a", "below": [{"name": "b"}]}, Node("a", [Node("b")])),
    ({"type": "array", "items": {"type": "integer"}}, [1], [1]),
]


@pytest.mark.parametrize(("kind", "written", "value"), CASES, ids=[str(kind) for kind, _, _ in CASES])
def test_the_value_of_a_run_has_the_type_that_was_asked_for(
    kind: object, written: Json, value: object
) -> None:
    output = output_of(kind)
    asked = Plan.of(model="m", messages="hi", output=output.spec)
    answer: Json = {"value": written} if output.spec.wrapped else written
    done = run(asked, Ports(ScriptedEndpoint([saying(canonical(answer))]), ScriptedTools({})))
    assert output.value(done) == output.value(done.outcome) == value


def test_it_has_a_name_and_a_description_for_the_model() -> None:
    spec = output_of(Stock, name="stock", description="What is there.").spec
    assert (spec.name, spec.description) == ("stock", "What is there.")


def test_a_run_without_a_value_says_how_it_ended() -> None:
    output = output_of(Point)
    assert complaint(OutputError, lambda: output.value(MaxTurns(3))) == (
        "the run has no value: it ended as max_turns"
    )
    assert "write Plan.of(output=output.spec)" in complaint(OutputError, lambda: output.value(Completed("x")))


def test_checks_that_a_schema_cannot_say_are_told() -> None:
    odd = Completed("", JsonText('{"x":13}'))
    model = complaint(OutputError, lambda: output_of(Point).value(odd))
    assert model == "final_answer: /x: Value error, no 13, please"
    struct = Completed("", JsonText('{"name":1}'))
    assert "final_answer: Expected `str`, got `int`" in complaint(
        OutputError, lambda: output_of(Node).value(struct)
    )


class Odd(msgspec.Struct):
    made: memoryview | set[list[int]] | complex


@pytest.mark.parametrize("kind", [complex, Odd, "text"])
def test_what_json_cannot_represent_is_refused(kind: object) -> None:
    assert "output 'final_answer'" in complaint(ConfigError, lambda: output_of(kind))
