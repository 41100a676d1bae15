from __future__ import annotations

import pytest
from pydantic import BaseModel

from tests.samples import complaint, worked
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core._plan import OutputSpec
from toolreel_core._schema import violations

POINT: dict[str, Json] = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


class Point(BaseModel):
    x: int


def test_the_schema_of_an_object_is_sent_as_it_is() -> None:
    spec = OutputSpec.of(POINT)
    assert (spec.sent, spec.wrapped) == (canonical(POINT), False)
    assert spec.value_of(JsonText('{"x":1}')) == '{"x":1}'
    assert spec.keys == {"x"}


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "array"}, {"enum": ["a"]}, {"type": ["object", "null"]}, {"type": "object", "anyOf": [{}]}],
    ids=str,
)
def test_any_other_value_is_a_property_of_an_object(schema: dict[str, Json]) -> None:
    spec = OutputSpec.of(schema)
    assert parse(spec.sent) == {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert spec.value_of(JsonText('{"value":[1]}')) == "[1]"
    assert spec.keys == {"value"}


def test_a_reference_at_the_root_is_resolved() -> None:
    spec = OutputSpec.of({"$ref": "#/$defs/P", "$defs": {"P": POINT}})
    assert (spec.sent, spec.wrapped) == (canonical(POINT), False)
    colour = OutputSpec.of({"$ref": "#/$defs/C", "$defs": {"C": {"type": "string"}}})
    assert violations(colour.sent, canonical({"value": "red"})) == ()


@pytest.mark.parametrize(
    ("schema", "fits", "breaks"), worked("references mean the same inside the object", "runs-and-plans")
)
def test_references_mean_the_same_inside_the_object(
    schema: dict[str, Json], fits: Json, breaks: Json
) -> None:
    spec = OutputSpec.of(schema)
    assert spec.wrapped
    assert violations(spec.sent, canonical({"value": fits})) == ()
    assert violations(spec.sent, canonical({"value": breaks})) != ()


def test_a_model_gives_its_schema() -> None:
    assert OutputSpec.of(Point).keys == {"x"}
    spec = OutputSpec.of(POINT, name="point", description="A point.")
    assert (spec.name, spec.description) == ("point", "A point.")
    assert OutputSpec.of(spec) is spec


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: OutputSpec(JsonText("[]")), "output: expected a JSON Schema object, got []"),
        (lambda: OutputSpec(JsonText("{}"), "a b"), "output: the name 'a b' does not fit"),
        (lambda: OutputSpec(JsonText("{}"), description="\ud83d"), "output: description: holds a lone"),
        (lambda: OutputSpec.of({"type": "objekt"}), "output: not a JSON Schema at $"),
        (lambda: OutputSpec.of({"x": {1}}), "output: schema.x: a set is not JSON"),  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
        (lambda: OutputSpec.of(3), "output: 3 gives no schema"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ],
)
def test_what_cannot_be_asked_for_is_refused(make: object, why: str) -> None:
    assert callable(make)
    assert complaint(ConfigError, make).startswith(why)


@pytest.mark.parametrize(
    ("schema", "text", "value"), worked("the value is shown while it is written", "runs-and-plans")
)
def test_the_value_is_shown_while_it_is_written(schema: dict[str, Json], text: str, value: Json) -> None:
    assert OutputSpec.of(schema).partial(text) == value
