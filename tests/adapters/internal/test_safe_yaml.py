from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.cassette.test_yaml import TREE
from tests.samples import worked
from toolreel._internal import TAG, YamlError, YamlRules, read_tree
from toolreel._internal import safe_yaml as yaml_reading
from toolreel.cassette import load_yaml

TEXTS = YamlRules(plain=str, tags={}, max_depth=4, max_size=100)
NUMBERS = YamlRules(
    plain=lambda text: int(text) if text.isdecimal() else text,
    tags={"!": str, f"{TAG}int": int},
    max_depth=4,
    max_size=100,
)
LOADERS: list[Any] = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.__name__, autouse=True)
def each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test holds with libyaml and with PyYAML alone."""
    monkeypatch.setattr(yaml_reading, "_Loader", request.param)


def refusal(text: str, rules: YamlRules) -> str:
    with pytest.raises(YamlError) as caught:
        read_tree(text, rules)
    assert (
        str(caught.value) == f"line {caught.value.line}, column {caught.value.column}: {caught.value.problem}"
    )
    return str(caught.value)


@settings(max_examples=40)
@given(tree=TREE, flow=st.booleans())
def test_what_pyyaml_writes_is_read_back(tree: object, flow: bool) -> None:
    text = yaml.safe_dump({"body": tree}, default_flow_style=flow, allow_unicode=True)
    assert repr(load_yaml(text, whole=False)) == repr(yaml.safe_load(text))


def test_an_alias_gives_the_same_object() -> None:
    tree = read_tree("a: &x [1]\nb: *x\nc: &y 5\nd: [*y]", NUMBERS)
    assert tree == {"a": [1], "b": [1], "c": 5, "d": [5]}
    assert tree["a"] is tree["b"]


def test_aliases_count_as_often_as_they_stand_and_the_limit_is_exact() -> None:
    text = "[&a 'xxxx', *a, 'xxxxx', 1]"
    assert read_tree(text, replace(NUMBERS, max_size=18)) == ["xxxx", "xxxx", "xxxxx", 1]
    assert "more than 17 characters" in refusal(text, replace(NUMBERS, max_size=17))


def test_a_key_is_a_text() -> None:
    assert read_tree("[&k x, {*k : 1}]", NUMBERS) == ["x", {"x": 1}]
    assert refusal("007: 1", NUMBERS) == "line 1, column 1: a key has to be a text; put it in quotes"
    assert (
        refusal("[&k 7, {*k : 1}]", NUMBERS) == "line 1, column 9: a key has to be a text; put it in quotes"
    )
    assert read_tree("'007': 1", NUMBERS) == {"007": 1}


def test_tags_are_those_of_the_rules() -> None:
    assert read_tree("[!!int '7', ! 7, !!seq [], !!map {}, ! []]", NUMBERS) == [7, "7", [], {}, []]
    for text, tag in {"!!seq []": "!!seq", "!!map {}": "!!map", "! a": "!", "!x a": "!x"}.items():
        assert refusal(text, TEXTS) == f"line 1, column 1: the tag '{tag}' is not allowed here; leave it out"
    assert "the tag '!!seq' is not allowed here" in refusal("!!seq {}", NUMBERS)
    assert "the tag '!!map' is not allowed here" in refusal("!!map []", NUMBERS)


@pytest.mark.parametrize(
    ("text", "rules", "why"),
    [
        ("[&x [1], &x [*x]]", NUMBERS, "line 1, column 14: the alias *x has no anchor before it"),
        *((text, TEXTS, why) for text, why in worked("a text that breaks the rules", "cassettes")),
    ],
)
def test_what_breaks_the_rules_is_refused_with_its_place(text: str, rules: YamlRules, why: str) -> None:
    assert why in refusal(text, rules)
