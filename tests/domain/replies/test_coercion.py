from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.samples import worked
from tests.strategies import json_objects
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._replies import Intended, coerce_arguments, decode_nested_json

[PARAMETERS] = worked("parameters whose texts may be decoded", "json-and-replies")
SCHEMA = canonical(PARAMETERS)


def meant(**arguments: Json) -> Json:
    found = decode_nested_json(SCHEMA, canonical(arguments))
    assert found.codes == (() if found.arguments == canonical(arguments) else ("ARGUMENTS_DECODED",))
    value: Json = json.loads(found.arguments)
    return value


@pytest.mark.parametrize(
    ("name", "text", "value"),
    worked("text is decoded where the schema wants an array or an object", "json-and-replies"),
)
def test_text_is_decoded_where_the_schema_wants_an_array_or_an_object(
    name: str, text: Json, value: Json
) -> None:
    assert meant(**{name: text}) == {name: value}


@pytest.mark.parametrize(
    ("name", "text"),
    worked("any other text stays as it is", "json-and-replies"),
)
def test_any_other_text_stays_as_it_is(name: str, text: str) -> None:
    assert meant(**{name: text}) == {name: text}


def test_arguments_without_text_that_could_be_json_are_not_even_parsed() -> None:
    arguments = JsonText('{"edits":[{"new":{}}],"text":"plain"}')
    assert decode_nested_json(SCHEMA, arguments).arguments is arguments


def test_decoding_leads_no_deeper_than_allowed() -> None:
    arguments = canonical({"edits": '[{"new": {}}]'})
    assert decode_nested_json(SCHEMA, arguments, max_depth=4).codes == ("ARGUMENTS_DECODED",)
    assert decode_nested_json(SCHEMA, arguments, max_depth=3) == Intended(arguments)


def test_a_crowd_of_strings_that_may_stay_strings_is_left_alone() -> None:
    schema = canonical({"properties": {"x": {"items": {"type": ["object", "string"]}}}})
    few, many = ({"x": ["{}"] * count} for count in (64, 65))
    assert json.loads(decode_nested_json(schema, canonical(few)).arguments) == {"x": [{}] * 64}
    assert decode_nested_json(schema, canonical(many)).codes == ()


@given(json_objects)
def test_arguments_that_are_meant_as_they_are_stay_so(arguments: dict[str, Json]) -> None:
    text = canonical(arguments)
    assert decode_nested_json(canonical({}), text) == Intended(text)
    assert decode_nested_json(canonical({"additionalProperties": {"type": "string"}}), text) == Intended(text)


@pytest.mark.parametrize(
    ("schema", "arguments", "options", "value", "codes", "doubt"),
    worked("arguments are coerced as their schema means", "json-and-replies"),
)
def test_arguments_are_coerced_as_their_schema_means(
    schema: Json, arguments: Json, options: dict[str, bool], value: Json, codes: list[str], doubt: str
) -> None:
    allowed = {"repair": True, "drop_nulls": False, **options}
    found = coerce_arguments(canonical(schema), canonical(arguments), names={"count"}, **allowed)
    assert (json.loads(found.arguments), [*found.codes], found.doubt) == (value, codes, doubt)
