"""Scenarios in Python: for what a table cannot say, such as a world or a check of one's own."""

from __future__ import annotations

from collections.abc import Callable

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core.evals._own_scenarios.own_scenario import PACK, check_scenario_name
from toolreel_core.evals._scenarios.scenario import Case, Scenario


def scenario(
    name: str, *, about: str = "", version: int = 1, tool_use_mode: str = "relaxed"
) -> Callable[[Callable[[str], Case]], Scenario]:
    """Make a scenario of the function below: from a trial's seed to its case.

    ::

        @scenario("take_note", about="One note.")
        def take_note(seed: str) -> Case: ...

    :param name: small letters, digits and _
    :param version: to be increased whenever texts, tools or world change; in a file that a plan names, the
        text of the file counts instead
    :param tool_use_mode: ``relaxed``: the model may answer without a call; ``enforced``: it must make one
    :raises ConfigError: if the name or the mode is none
    """
    check_scenario_name(name)
    LoopConfig.of({"tool_use_mode": tool_use_mode})
    if version < 1:
        raise ConfigError(f"version: expected a whole number of at least 1, got {version!r}")
    changes = Preset(config=canonical({"tool_use_mode": tool_use_mode}))

    def made(begin: Callable[[str], Case]) -> Scenario:
        return Scenario(name, PACK, about, version, (), begin, changes)

    return made
