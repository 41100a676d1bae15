from __future__ import annotations

import json
from typing import Any

import pytest

from tests.samples import corpus_rows, worked
from toolreel_core._jsontext import Json
from toolreel_core._loop import start
from toolreel_core._plan import MAX_TOKENS, Plan, options_for_form
from toolreel_core._protocol import OptionIgnored, SendRequest, Step
from toolreel_core._settings import Provider, WireForm


def messages(**options: Json) -> Json:
    return {key: value for key, value in options_for_form("messages", options).items() if key != "max_tokens"}


def responses(**options: Json) -> Json:
    return {key: value for key, value in options_for_form("responses", options).items() if key != "store"}


@pytest.mark.parametrize("case", corpus_rows("option-words"))
def test_options_are_said_in_the_words_of_a_form(case: dict[str, Any]) -> None:
    said = {"messages": messages, "responses": responses}[case["form"]]
    assert said(**case["options"]) == case["words"]


@pytest.mark.parametrize(
    ("said", "limit"),
    [({}, MAX_TOKENS), ({"max_tokens": 7}, 7), ({"max_completion_tokens": 8}, 8)],
)
def test_messages_need_an_output_limit(said: dict[str, Json], limit: int) -> None:
    assert options_for_form("messages", said)["max_tokens"] == limit


def test_the_server_keeps_nothing_unless_it_is_told_to() -> None:
    assert options_for_form("responses", {})["store"] is False
    assert options_for_form("responses", {"store": True})["store"] is True


def begun(form: WireForm, **overrides: Json) -> Step:
    return start(Plan.of(model="m", messages="hi", provider=Provider(wire_form=form), overrides=overrides))


def body_of(at: Step) -> str:
    (effect,) = at.effects
    assert isinstance(effect, SendRequest)
    return effect.request.body


@pytest.mark.parametrize(("form", "key"), [("responses", "input"), ("messages", "system")])
def test_overrides_of_what_a_form_says_itself_are_ignored_and_noted(form: WireForm, key: str) -> None:
    at = begun(form, **{key: "x"})
    assert body_of(at) == body_of(begun(form))
    assert OptionIgnored(key, "reserved") in at.notes


@pytest.mark.parametrize(
    ("form", "overrides"),
    worked("overrides that only one form has go out with every request", "runs-and-plans"),
)
def test_overrides_that_only_one_form_has_go_out_with_every_request(
    form: WireForm, overrides: dict[str, Json]
) -> None:
    assert overrides.items() <= json.loads(body_of(begun(form, **overrides))).items()
