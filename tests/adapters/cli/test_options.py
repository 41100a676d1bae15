from __future__ import annotations

from dataclasses import fields

import pytest

from tests.samples import complaint, worked
from toolreel._cli import OPTIONS, parse_settings
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core._settings import LoopConfig


@pytest.mark.parametrize(("text", "value"), worked("a value of a setting", "runs-and-plans"))
def test_a_value_is_json_where_it_can_be_and_text_otherwise(text: str, value: Json) -> None:
    assert parse_settings([f"stop={text}"]).options == {"stop": value}


def test_of_two_values_for_a_key_the_last_one_counts() -> None:
    assert parse_settings(["seed=1", "seed=2", "body.seed=3"]).options == {"seed": 3}


def test_no_option_hides_a_setting_of_the_loop() -> None:
    assert not {setting.name for setting in fields(LoopConfig)} & {*OPTIONS}


@pytest.mark.parametrize("item", ["temperature", "=3", ""])
def test_an_item_without_key_or_value_is_refused_with_an_example(item: str) -> None:
    assert complaint(ConfigError, lambda: parse_settings([item])) == (
        f"--set {item}: expected key=value, for example temperature=0"
    )


def test_an_unknown_key_is_refused_with_the_nearest_one_and_the_way_around() -> None:
    assert complaint(ConfigError, lambda: parse_settings(["temprature=1"])) == (
        "--set temprature=1: there is no setting 'temprature'; did you mean 'temperature'? "
        "Another key of the body is written body.temprature."
    )
    assert "there is no setting 'body.'" in complaint(ConfigError, lambda: parse_settings(["body.=1"]))


def test_null_is_a_word_where_a_setting_has_it_among_its_words() -> None:
    given = parse_settings(["tool_turn_content=null", "max_wall_ms=null"])
    assert given.provider == {"tool_turn_content": "null"}
    assert given.config == {"max_wall_ms": None}
