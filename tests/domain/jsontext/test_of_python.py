from __future__ import annotations

import math
from types import MappingProxyType

import pytest
from hypothesis import given

from tests.samples import complaint
from tests.strategies import json_values
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._jsontext.of_python import json_text

ALLOWED = "use None, a bool, a number, a str, a list or a dict"
SURROGATE = "holds a lone surrogate, which cannot be sent"
ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


@given(json_values)
def test_json_has_its_canonical_text(value: Json) -> None:
    assert json_text(value, "options") == canonical(value)


def test_a_tuple_is_written_as_a_list() -> None:
    assert json_text((1, {"a": (None, True)}), "options") == '[1,{"a":[null,true]}]'


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": [1, {"b": math.inf}]}, "options.a[1].b: inf is not JSON; use a finite number"),
        ({"a": math.nan, "b": -math.inf}, "options.a: nan is not JSON; use a finite number"),
        ([10**5_000], "options[0]: an integer this long is not JSON; use a finite number"),
        ({"a": {1: 2}}, "options.a: the key 1 is not JSON; use a str"),
        ({None: 2}, "options: the key None is not JSON; use a str"),
        ({"a": ["\ud83d"]}, f"options.a[0]: {SURROGATE}"),
        ({"\ud83d": 1}, rf"options: the key '\ud83d' {SURROGATE}"),
        ({"a": {1}}, f"options.a: a set is not JSON; {ALLOWED}"),
        (MappingProxyType({}), f"options: a mappingproxy is not JSON; {ALLOWED}"),
        (b"x", f"options: a bytes is not JSON; {ALLOWED}"),
        (ENDLESS, "options: nested deeper than 128 levels"),
    ],
)
def test_what_json_cannot_carry_is_told_with_its_place(value: object, why: str) -> None:
    assert complaint(ConfigError, lambda: json_text(value, "options")) == why


def test_a_value_may_nest_as_deep_as_it_can_be_read_back() -> None:
    deep: Json = []
    for _ in range(127):
        deep = [deep]
    assert json_text(deep, "options") == "[" * 128 + "]" * 128
    assert complaint(ConfigError, lambda: json_text([deep], "options")).endswith("deeper than 128 levels")
