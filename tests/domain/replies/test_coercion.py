from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given

from tests.samples import worked
from tests.strategies import json_objects
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._replies import Coercion, Intended, WarningCode, coerced, decoded

SCHEMA = canonical(
    {
        "type": "object",
        "properties": {
            "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "object"}]},
            "text": {"type": "string"},
            "anything": {},
            "either": {"anyOf": [{"type": "object", "required": ["k"]}, {"type": "string"}]},
            "listed": {"type": ["array", "null"]},
            "chosen": {"oneOf": [{"type": "object"}, {"enum": ["{}"]}]},
            "deep": {"anyOf": [{"type": "object", "properties": {"l": {"type": "array"}}}, {"type": "null"}]},
            "all": {"allOf": [{"type": "object"}, True]},
            "elsewhere": {"$ref": "#/$defs/no~1such"},
        },
        "additionalProperties": {"type": "array"},
        "$defs": {
            "edit": {
                "type": "object",
                "properties": {"new": {"type": "object"}},
                "required": ["new"],
            },
            "no/such": {"type": "object"},
        },
    }
)


def meant(**arguments: Json) -> Json:
    found = decoded(SCHEMA, canonical(arguments))
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


def test_a_mistake_elsewhere_does_not_hide_what_was_meant() -> None:
    assert meant(edits='[{"new": {}}]', text=3) == {"edits": [{"new": {}}], "text": 3}
    assert meant(edits='["x"]', text=3) == {"edits": '["x"]', "text": 3}


def test_a_string_that_may_stay_one_is_decoded_in_spite_of_a_mistake_around_it() -> None:
    schema = canonical(
        {
            "properties": {"either": {"type": ["object", "string"]}, "list": {"type": "array"}},
            "required": ["n"],
        }
    )
    arguments = canonical({"either": "{}", "list": "[]"})
    assert decoded(schema, arguments).arguments == '{"either":{},"list":[]}'


def test_arguments_without_text_that_could_be_json_are_not_even_parsed() -> None:
    arguments = JsonText('{"edits":[{"new":{}}],"text":"plain"}')
    assert decoded(SCHEMA, arguments).arguments is arguments


def test_decoding_leads_no_deeper_than_allowed() -> None:
    arguments = canonical({"edits": '[{"new": {}}]'})
    assert decoded(SCHEMA, arguments, max_depth=4).codes == ("ARGUMENTS_DECODED",)
    assert decoded(SCHEMA, arguments, max_depth=3) == Intended(arguments)


def test_a_crowd_of_strings_that_may_stay_strings_is_left_alone() -> None:
    schema = canonical({"properties": {"x": {"items": {"type": ["object", "string"]}}}})
    few, many = ({"x": ["{}"] * count} for count in (64, 65))
    assert json.loads(decoded(schema, canonical(few)).arguments) == {"x": [{}] * 64}
    assert decoded(schema, canonical(many)).codes == ()


def test_a_schema_that_refers_to_itself_is_followed_as_far_as_the_value_goes() -> None:
    tree: Json = {
        "type": "object",
        "properties": {"down": {"$ref": "#"}, "next": {"$ref": "#/properties/down"}},
    }
    schema = canonical(tree)
    assert decoded(schema, canonical({"next": '{"a": 1}'})).codes == ()
    node: dict[str, Json] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = canonical({**node, "$defs": {"node": node}})
    assert decoded(schema, canonical({"next": '{"next": "{}"}'})).arguments == '{"next":{"next":{}}}'


def test_a_schema_of_very_many_branches_is_not_followed_without_end() -> None:
    branches: Json = [{"type": "integer"}] * 200
    schema = canonical({"properties": {"x": {"anyOf": [{"type": "object"}, {"anyOf": branches}]}}})
    assert decoded(schema, canonical({"x": "{}"})).codes == ()


@given(json_objects)
def test_arguments_that_are_meant_as_they_are_stay_so(arguments: dict[str, Json]) -> None:
    text = canonical(arguments)
    assert decoded(canonical({}), text) == Intended(text)
    assert decoded(canonical({"additionalProperties": {"type": "string"}}), text) == Intended(text)


def intended(schema: JsonText, arguments: Json, *, repair: bool = True, drop_nulls: bool = False) -> Intended:
    return coerced(schema, canonical(arguments), names={"count"}, repair=repair, drop_nulls=drop_nulls)


NUMBER = canonical({"properties": {"n": {"type": "integer"}}, "required": ["n"]})
LOOSE = canonical({"properties": {"n": {"type": "integer"}}})


@pytest.mark.parametrize("key", ["arguments", "parameters", "args", "input"])
@pytest.mark.parametrize("schema", [NUMBER, LOOSE])
def test_an_envelope_that_the_schema_does_not_know_is_opened(key: str, schema: JsonText) -> None:
    for more in ({}, {"name": "count"}, {"name": "functions.count"}, {"name": None}):
        for inner in ({"n": 1}, '{"n": 1}'):
            found = intended(schema, {**more, key: inner})
            assert found == Intended(JsonText('{"n":1}'), ("ARGUMENTS_UNWRAPPED",))
            assert intended(schema, {**more, key: inner}, repair=False).codes == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": 1},
        {"arguments": {"n": "1"}},
        {"arguments": '{"n": "1"}'},
        {"arguments": '{"n": 1'},
        {"arguments": "[1]"},
        {"arguments": {"n": 1}, "args": {"n": 1}},
        {"arguments": {"n": 1}, "other": 1},
    ],
)
def test_what_is_no_envelope_or_holds_what_does_not_fit_stays(arguments: Json) -> None:
    assert intended(NUMBER, arguments) == Intended(canonical(arguments))


@pytest.mark.parametrize("name", ["wipe", 1])
def test_an_envelope_with_another_name_is_told(name: Json) -> None:
    assert (
        intended(NUMBER, {"name": name, "arguments": {"n": 1}}).doubt == f"a whole call of {canonical(name)}"
    )


FREE = canonical({"type": "object"})
MAP = canonical({"properties": {"n": {}}, "additionalProperties": {"type": "object"}})
NAMED = canonical({"properties": {"n": {}, "name": {}}})


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (FREE, {"input": {"n": 1}}),
        (FREE, {"input": {}}),
        (MAP, {"input": {}}),
        (LOOSE, {"input": {"n": "1"}}),
        (LOOSE, {"input": {"n": 1, "m": 2}}),
        (NAMED, {"name": "count", "input": {"n": 1}}),
    ],
)
def test_an_envelope_of_which_the_schema_allows_two_readings_is_told(
    schema: JsonText, arguments: Json
) -> None:
    found = intended(schema, arguments)
    assert found.arguments == canonical(arguments)
    assert found.doubt == "an object inside 'input', which the schema does not declare"


def test_an_empty_envelope_is_opened_where_the_schema_declares_all_it_means() -> None:
    assert intended(canonical({"properties": {}}), {"input": {}}).arguments == "{}"


def test_what_an_envelope_holds_may_itself_have_to_be_decoded() -> None:
    schema = canonical({"properties": {"tags": {"type": "array"}}, "additionalProperties": False})
    found = intended(schema, {"arguments": {"tags": "[1]"}})
    assert found == Intended(canonical({"tags": [1]}), ("ARGUMENTS_UNWRAPPED", "ARGUMENTS_DECODED"))


def test_a_parameter_may_have_the_name_of_an_envelope() -> None:
    schema = canonical({"properties": {"input": {"type": "object"}}})
    assert intended(schema, {"input": {}}) == Intended(canonical({"input": {}}))
    referred = canonical({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {"input": {}}}}})
    assert intended(referred, {"input": {"n": 1}}) == Intended(canonical({"input": {"n": 1}}))


def test_a_parameter_of_that_name_is_an_envelope_where_only_its_inside_fits() -> None:
    schema = canonical({"properties": {"input": {"type": "string"}}, "required": ["input"]})
    assert intended(schema, {"input": {"input": "x"}}).arguments == '{"input":"x"}'


ORDER = canonical({"properties": {"items": {"type": "array"}, "note": {"type": "string"}}})


def test_each_coercion_is_made_only_if_it_is_allowed() -> None:
    arguments: Json = {"items": "[1]", "note": None}
    both = Intended(canonical({"items": [1]}), ("ARGUMENTS_DECODED", "NULL_ARGUMENT_DROPPED"))
    assert intended(ORDER, arguments, drop_nulls=True) == both
    assert intended(ORDER, arguments, repair=False) == Intended(canonical(arguments))


def test_arguments_without_refused_nulls_keep_them() -> None:
    assert intended(ORDER, {"other": None}, drop_nulls=True) == Intended(canonical({"other": None}))


def test_each_coercion_is_a_warning_code() -> None:
    assert {*get_args(Coercion)} < {*get_args(WarningCode)}
