from __future__ import annotations

from hypothesis import given

from tests.preset_values import preset, presets
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._plan.presets.diff import Change, changes, differences
from toolreel_core._plan.presets.preset import Preset


def test_each_declared_key_stands_against_its_default_with_the_reason() -> None:
    found = changes(
        preset(
            config={"max_turns": 4, "text_dialects": ["hermes_json"]},
            provider={"id_style": "kimi"},
            because={"max_turns": "enough"},
        )
    )
    assert found == (
        Change("config.max_turns", canonical(12), canonical(4), "enough"),
        Change("config.text_dialects", canonical([]), canonical(["hermes_json"])),
        Change("provider.id_style", canonical("keep"), canonical("kimi")),
    )


def test_a_key_that_is_declared_as_it_is_anyway_is_there_too() -> None:
    assert changes(preset(config={"max_turns": 12})) == (
        Change("config.max_turns", canonical(12), canonical(12)),
    )


def test_keys_of_the_body_stand_apart_and_are_not_sent_by_default() -> None:
    found = changes(
        preset(
            request={"temperature": 0, "extra": {"a": {"b": 1}, "c": {}}},
            request_overrides={"provider": {"sort": "price"}},
            because={"extra": "why not"},
        )
    )
    assert found == (
        Change("request.temperature", None, canonical(0)),
        Change("request.extra.a.b", None, canonical(1), "why not"),
        Change("request.extra.c", None, canonical({}), "why not"),
        Change("request_overrides.provider.sort", None, canonical("price")),
    )


def test_two_presets_differ_where_their_values_do_defaults_included() -> None:
    one = preset(config={"max_turns": 12, "nudge_no_tool_calls": 1}, request={"top_p": 1})
    other = preset(
        config={"nudge_no_tool_calls": 2, "max_tries": 1},
        because={"nudge_no_tool_calls": "stubborn"},
    )
    assert differences(one, other) == (
        Change("config.nudge_no_tool_calls", canonical(1), canonical(2), "stubborn"),
        Change("request.top_p", canonical(1), None),
        Change("config.max_tries", canonical(3), canonical(1)),
    )


def test_the_reason_for_what_only_one_declares_is_its_own() -> None:
    one = preset(config={"max_tries": 1}, because={"max_tries": "once"})
    assert differences(one, Preset()) == (Change("config.max_tries", canonical(1), canonical(3), "once"),)


@given(presets)
def test_a_preset_does_not_differ_from_itself(one: Preset) -> None:
    assert differences(one, one) == ()


@given(presets, presets)
def test_differences_run_backwards_from_the_other_side(one: Preset, other: Preset) -> None:
    there = {(change.key, change.before, change.after) for change in differences(one, other)}
    back = {(change.key, change.after, change.before) for change in differences(other, one)}
    assert there == back
