from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.preset_values import preset, presets
from tests.samples import ECHO, complaint, worked
from toolreel_core._config_checks import PlaceError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical, parse
from toolreel_core._loop import start
from toolreel_core._plan import Preset, SettingChange, exact_config_patch, preset_changes
from toolreel_core._protocol import SendRequest
from toolreel_core._proxy import Profile
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolSurface

CAREFUL = preset("careful", config={"max_turns": 4, "text_dialects": ["react"]})
SEQUENTIAL = preset("sequential", request={"parallel_tool_calls": False})
KNOWN = preset("known", provider={"supports_parallel_tool_calls": "yes"})


def test_a_preset_is_read_as_it_stands() -> None:
    read = preset(
        about="Mine.",
        evidence=["a thread"],
        verified_on="2026-11-22",
        defaults_for=["here"],
        config={"max_turns": 4},
        provider={"id_style": "kimi"},
        request={"temperature": 0},
        request_overrides={"provider": {"sort": "price"}},
        because={"max_turns": "enough", "temperature": "calm"},
    )
    assert read == Preset(
        ("mine",),
        "Mine.",
        ("a thread",),
        "2026-11-22",
        (("max_turns", "enough"), ("temperature", "calm")),
        ("here",),
        canonical({"max_turns": 4}),
        canonical({"id_style": "kimi"}),
        canonical({"temperature": 0}),
        canonical({"provider": {"sort": "price"}}),
    )
    assert read.name == "mine"


def test_merging_changes_only_what_is_declared() -> None:
    merged = CAREFUL.merged(preset("patient", config={"max_turns": 40}))
    assert merged.changes()["config"] == {"max_turns": 40, "text_dialects": ["marked", "react"]}
    assert merged.name == "careful + patient"


def test_options_and_overrides_merge_deeply() -> None:
    one = preset(request={"a": {"b": 1, "c": 1}}, request_overrides={"provider": {"sort": "price"}})
    other = preset(request={"a": {"c": 2}, "d": 3}, request_overrides={"provider": {"only": ["x"]}})
    assert one.merged(other).changes() == {
        "config": {},
        "provider": {},
        "request": {"a": {"b": 1, "c": 2}, "d": 3},
        "request_overrides": {"provider": {"sort": "price", "only": ["x"]}},
    }


def test_a_limit_is_turned_off_by_a_word_since_toml_has_no_null() -> None:
    assert preset(config={"repetition_stop": "off"}).changes()["config"] == {"repetition_stop": None}


def test_what_was_seen_is_kept_and_the_oldest_look_counts() -> None:
    one = preset("one", evidence=["a", "b"], verified_on="2026-11-22", about="One.")
    other = preset("other", evidence=["b", "c"], verified_on="2026-02-08", about="Other.")
    merged = one.merged(other).merged(preset("third"))
    assert merged.evidence == ("a", "b", "c")
    assert merged.verified_on == "2026-02-08"
    assert merged.about == "One. Other."


def test_a_reason_does_not_outlive_the_value_that_it_was_for() -> None:
    one = preset(
        config={"max_turns": 1, "text_dialects": ["hermes_json"]},
        request={"temperature": 0},
        because={"max_turns": "first", "text_dialects": "tags", "temperature": "calm"},
    )
    other = preset(config={"max_turns": 2, "text_dialects": ["json_fenced"]})
    assert one.merged(other).because == (("text_dialects", "tags"), ("temperature", "calm"))


@given(presets, presets, presets)
def test_it_does_not_matter_which_two_of_three_are_merged_first(
    one: Preset, two: Preset, three: Preset
) -> None:
    assert one.merged(two).merged(three) == one.merged(two.merged(three))


@given(presets)
def test_an_empty_preset_changes_nothing_and_a_preset_over_itself_neither(one: Preset) -> None:
    assert Preset().merged(one) == one.merged(Preset()) == one
    assert one.merged(one).changes() == one.changes()


def test_what_a_plan_itself_asks_for_goes_before_its_preset() -> None:
    ready = preset(
        config={"max_turns": 4, "text_dialects": ["hermes_json"]},
        provider={"id_style": "kimi", "thinking": True},
        request={"temperature": 0.3, "extra": {"a": 1, "b": 1}},
    )
    plan = ready.plan(
        model="m",
        messages="hi",
        options={"temperature": 1, "extra": {"b": 2}},
        settings={"text_dialects": {"only": ["json_fenced"]}, "id_style": "openai"},
    )
    assert plan.config == LoopConfig(max_turns=4, text_dialects=("json_fenced",))
    assert plan.provider == Provider(id_style="openai", thinking=True)
    assert parse(plan.options) == {"temperature": 1, "extra": {"a": 1, "b": 2}}


@pytest.mark.parametrize(
    ("own", "given", "names"),
    worked("lists that a plan asks for add to those of its preset as in a catalogue", "runs-and-plans"),
)
def test_lists_that_a_plan_asks_for_add_to_those_of_its_preset_as_in_a_catalogue(
    own: object, given: object, names: list[str]
) -> None:
    below = Preset() if own is None else preset(config={"text_dialects": own})
    asked = {"text_dialects": given}
    plan = below.plan(model="m", messages="hi", settings=asked)
    assert plan.config == LoopConfig(text_dialects=tuple(names))
    same = {"text_dialects": tuple(given) if isinstance(given, list) else given}
    assert below.config_with(asked) == below.config_with(same) == plan.config
    assert Profile.of(below, asked).config == plan.config


@pytest.mark.parametrize(
    ("given", "words"), worked("a list that cannot be used is an error at its place", "runs-and-plans")
)
def test_a_list_that_cannot_be_used_is_an_error_at_its_place(given: object, words: str) -> None:
    assert complaint(ConfigError, lambda: Preset().config_with({"text_dialects": given})) == words


def test_overrides_go_over_everything() -> None:
    ready = preset(request_overrides={"provider": {"sort": "price", "only": ["a"]}})
    plan = ready.plan(
        model="m",
        messages="hi",
        options={"provider": {"sort": "latency"}},
        overrides={"provider": {"only": ["b"]}},
    )
    [effect] = start(plan).effects
    assert isinstance(effect, SendRequest)
    assert json.loads(effect.request.body)["provider"] == {"sort": "price", "only": ["b"]}


@pytest.mark.parametrize(
    ("option", "value", "support"),
    worked("an option of a preset is sent only where it is known to be taken", "runs-and-plans"),
)
def test_an_option_of_a_preset_is_sent_only_where_it_is_known_to_be_taken(
    option: str, value: object, support: str
) -> None:
    asking = preset("asking", request={option: value})
    for known, sent in (("yes", {option: value}), ("no", {}), ("unknown", {})):
        ready = asking.merged(preset(provider={support: known}))
        assert parse(ready.plan(model="m", messages="hi", tools=[ECHO]).options) == sent
    insisting = asking.plan(model="m", messages="hi", tools=[ECHO], options={option: "mine"})
    assert parse(insisting.options) == {option: "mine"}


def test_options_about_tools_are_not_sent_where_there_are_none() -> None:
    ready = SEQUENTIAL.merged(KNOWN)
    assert parse(ready.plan(model="m", messages="hi").options) == {}
    with_tools = ready.plan(model="m", messages="hi", tools=ToolSurface((ECHO,)))
    assert parse(with_tools.options) == {"parallel_tool_calls": False}
    assert with_tools.calls_per_turn == 1


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"request": {"x": {1}}}, "preset.mine.request.x: expected what JSON can hold, got {1}"),
        *worked("a preset that cannot be used is refused at its place", "runs-and-plans"),
    ],
)
def test_a_preset_that_cannot_be_used_is_refused_at_its_place(tree: object, text: str) -> None:
    assert text in complaint(PlaceError, lambda: Preset.of("mine", tree))


def test_a_setting_that_does_not_exist_is_refused_with_a_hint() -> None:
    def plan() -> object:
        return CAREFUL.plan(model="m", messages="hi", settings={"id_stile": "kimi"})

    assert complaint(ConfigError, plan) == "there is no setting 'id_stile'; did you mean 'id_style'?"


def test_each_declared_key_stands_against_its_default_with_the_reason() -> None:
    found = preset_changes(
        preset(
            config={"max_turns": 4, "text_dialects": ["react"]},
            provider={"id_style": "kimi"},
            because={"max_turns": "enough"},
        )
    )
    assert found == (
        SettingChange("config.max_turns", canonical(12), canonical(4), "enough"),
        SettingChange("config.text_dialects", canonical(["marked"]), canonical(["marked", "react"])),
        SettingChange("provider.id_style", canonical("keep"), canonical("kimi")),
    )


def test_a_patch_for_exactly_a_configuration_takes_what_is_on_by_default_away() -> None:
    for names in ((), ("react",), ("marked",), ("marked", "react"), ("react", "marked")):
        config = LoopConfig(max_turns=4, text_dialects=names)
        exact = Preset(config=exact_config_patch(config))
        assert LoopConfig.of(exact.changes()["config"]) == config
        more = exact.merged(preset(config={"text_dialects": ["json_fenced"]}))
        assert LoopConfig.of(more.changes()["config"]).text_dialects == (*config.text_dialects, "json_fenced")
