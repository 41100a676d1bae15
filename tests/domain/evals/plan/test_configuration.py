"""Configurations: the plan of a run that they make; taken apart into keys, and put together again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import ECHO, PING, complaint
from toolreel_core._conversation import UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, parse
from toolreel_core._settings import LoopConfig, Price, Provider
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import Configuration, changed_keys_between, tree_changes, with_changed_keys

_leaves = st.one_of(st.none(), st.booleans(), st.integers(0, 3))
_trees = st.recursive(
    st.dictionaries(st.sampled_from("abc"), _leaves, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), _leaves | inner, max_size=3),
    max_leaves=4,
)
_configs = st.fixed_dictionaries(
    {},
    optional={
        "max_turns": st.integers(1, 4),
        "max_tool_calls_per_turn": st.none() | st.integers(1, 2),
        "text_dialects": st.lists(
            st.sampled_from(["marked", "react", "json_fenced", "llama_json"]), unique=True
        ),
        "tool_use_mode": st.sampled_from(["enforced", "relaxed"]),
    },
)
_providers = st.fixed_dictionaries({}, optional={"supports_tools": st.sampled_from(["yes", "no"])})


def _configuration(
    config: Mapping[str, Any], provider: Mapping[str, Any], options: Json, overrides: Json
) -> Configuration:
    return Configuration(
        LoopConfig.of(config), Provider.of(provider), canonical(options), canonical(overrides), ("name",)
    )


configurations = st.builds(_configuration, _configs, _providers, _trees, _trees)


@given(before=configurations, after=configurations)
def test_all_keys_make_the_one_configuration_of_the_other_and_none_change_nothing(
    before: Configuration, after: Configuration
) -> None:
    keys = changed_keys_between(before, after)
    assert len({*map(str, keys)}) == len(keys)
    assert _sorted(with_changed_keys(before, keys, after.price)) == _sorted(after)
    assert with_changed_keys(before, ()) == before
    assert (keys == ()) is (_sorted(before) == _sorted(after))


def _sorted(configuration: Configuration) -> object:
    """Everything but the order of the keys in options, which says nothing."""
    options, overrides = (
        canonical(_in_order(text)) for text in (configuration.options, configuration.overrides)
    )
    return configuration.config, configuration.provider, options, overrides


def _in_order(text: str) -> Json:
    tree: Json = json.loads(json.dumps(json.loads(text), sort_keys=True))
    return tree


@given(before=configurations, after=configurations, data=st.data())
def test_the_keys_that_are_left_out_are_what_still_differs(
    before: Configuration, after: Configuration, data: st.DataObject
) -> None:
    keys = changed_keys_between(before, after)
    chosen = tuple(key for key in keys if data.draw(st.booleans()))
    partly = with_changed_keys(before, chosen, after.price)
    assert {*map(str, changed_keys_between(partly, after))} == {*map(str, keys)} - {*map(str, chosen)}


def test_keys_are_named_by_their_place_and_say_what_changes() -> None:
    before = _configuration({"max_turns": 4, "text_dialects": ["react"]}, {}, {"top_p": 1}, {})
    after = _configuration({"text_dialects": ["marked", "json_fenced"]}, {}, {}, {"provider": {"sort": "p"}})
    keys = changed_keys_between(before, after)
    assert [(str(key), key.change) for key in keys] == [
        ("config.max_turns", "4 -> 12"),
        ("config.text_dialects", '["react"] -> ["marked","json_fenced"]'),
        ("request.top_p", "1 -> (none)"),
        ("request_overrides.provider", '(none) -> {"sort":"p"}'),
    ]
    stored, other = canonical({"a": {"b": 1, "d": 3}, "c": 2}), canonical({"a": {"d": 3}, "c": 4})
    assert tree_changes(stored, other) == ("a.b: 1 -> (none)", "c: 2 -> 4")


WHOLE = Configuration(
    LoopConfig(max_turns=4, text_dialects=("hermes_json",)),
    Provider(name="here"),
    canonical({"temperature": 0}),
    canonical({"route": "x"}),
    ("one", "two"),
    ("echo",),
    seeded=True,
    model="there",
    price=Price(1, 2),
)
TOOLS = ToolSurface((ECHO, PING))


def test_a_configuration_is_told_and_read_again() -> None:
    assert Configuration.of(WHOLE.text) == WHOLE
    assert Configuration.of(Configuration().text) == Configuration()
    assert WHOLE.digest != Configuration().digest


@pytest.mark.parametrize("name", [each.name for each in fields(Configuration)])
def test_all_of_it_decides_about_the_digest(name: str) -> None:
    changed: dict[str, Any] = {name: getattr(Configuration(), name)}
    assert replace(WHOLE, **changed).digest != WHOLE.digest


def test_only_allowed_tools_may_be_called() -> None:
    plan = WHOLE.plan("m", [UserMessage("hi")], TOOLS)
    assert plan.tools.names == ("echo",)
    said = complaint(
        ConfigError, lambda: replace(WHOLE, allowed_tools=("eco",)).plan("m", [UserMessage("hi")], TOOLS)
    )
    assert said == "allow: there is no tool 'eco'; did you mean 'echo'?"
    assert WHOLE.plan("m", [UserMessage("hi")], ToolSurface()).tools == ToolSurface()


def test_a_seeded_run_sends_its_seed() -> None:
    plan = WHOLE.plan("m", [UserMessage("hi")], TOOLS, 7)
    assert parse(plan.options) == {"temperature": 0, "seed": 7}
    odd = replace(WHOLE, options=canonical([])).plan("m", [UserMessage("hi")], TOOLS, 7)
    assert parse(odd.options) == {"seed": 7}
