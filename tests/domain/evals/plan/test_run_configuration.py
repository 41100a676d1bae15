from __future__ import annotations

from dataclasses import replace

import pytest

from tests.samples import ECHO, PING, complaint
from toolreel_core._conversation import UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical, parse
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import Configuration

WHOLE = Configuration(
    LoopConfig(max_turns=4, text_dialects=("hermes_json",)),
    Provider(name="here"),
    canonical({"temperature": 0}),
    canonical({"route": "x"}),
    ("one", "two"),
    ("echo",),
    seeded=True,
)
TOOLS = ToolSurface((ECHO, PING))


def test_a_configuration_is_told_and_read_again() -> None:
    assert Configuration.of(WHOLE.text) == WHOLE
    assert Configuration.of(Configuration().text) == Configuration()
    assert WHOLE.digest != Configuration().digest


def test_what_is_no_configuration_is_refused() -> None:
    said = complaint(ConfigError, lambda: Configuration.of(canonical({"confg": {}})))
    assert "there is no key 'confg'; did you mean 'config'?" in said


@pytest.mark.parametrize(
    "change",
    [
        {"config": LoopConfig()},
        {"provider": Provider()},
        {"options": canonical({})},
        {"overrides": canonical({})},
        {"presets": ("one",)},
        {"allowed_tools": ()},
        {"seeded": False},
    ],
)
def test_all_of_it_decides_about_the_digest(change: dict[str, object]) -> None:
    assert replace(WHOLE, **change).digest != WHOLE.digest  # type: ignore[arg-type]


def test_only_allowed_tools_may_be_called() -> None:
    plan = WHOLE.plan("m", [UserMessage("hi")], TOOLS)
    assert plan.tools.names == ("echo",)
    said = complaint(
        ConfigError, lambda: replace(WHOLE, allowed_tools=("eco",)).plan("m", [UserMessage("hi")], TOOLS)
    )
    assert said == "allow: there is no tool 'eco'; did you mean 'echo'?"


def test_a_chat_needs_no_tools_that_are_allowed() -> None:
    assert WHOLE.plan("m", [UserMessage("hi")], ToolSurface()).tools == ToolSurface()


def test_a_seeded_run_sends_its_seed() -> None:
    plan = WHOLE.plan("m", [UserMessage("hi")], TOOLS, 7)
    assert parse(plan.options) == {"temperature": 0, "seed": 7}
    odd = replace(WHOLE, options=canonical([])).plan("m", [UserMessage("hi")], TOOLS, 7)
    assert parse(odd.options) == {"seed": 7}
