"""Scenarios: a task, its world, and the checks that decide whether it was done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolreel_core._conversation import Message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, JsonText, parse
from toolreel_core._plan import Preset
from toolreel_core._tools import ToolSurface
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts
from toolreel_core.evals._worlds.world import World

PACK: Final = "own"
"""The pack of all scenarios that are not built in."""
Layer: TypeAlias = Literal["outcome", "exercise"]
"""``outcome``: whether the task was done; ``exercise``: whether the hard part of it was met at all."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a scenario."""

    name: str
    """Part of the failure's category, such as ``draft`` in ``task.outcome:draft``."""
    layer: Layer
    finding: Callable[[Evidence], str] = field(compare=False)
    """What is wrong, in words for a person; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one trial of a scenario poses: everything in it may be drawn from the trial's seed."""

    messages: tuple[Message, ...]
    """The initial ones."""
    tools: ToolSurface
    world: World
    checks: tuple[Check, ...] = ()
    """Their names are the same for every seed."""
    scripts: ScenarioScripts | None = None
    """Scripted models that prove the checks."""
    follow_ups: tuple[str, ...] = ()
    """What the user says after each complete answer, in turn."""
    outside: tuple[str, ...] = ()
    """Tools that are real: they run outside of the world, which takes note of their results."""
    server: str = ""
    """The name of an MCP server, a process of its own, that answers the ``outside`` tools as the world does;
    empty if there is none."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the catalogue."""

    name: str
    pack: str
    """What it belongs to: a pack of the built-in ones, or ``own``."""
    about: str
    version: int
    """Increased whenever its texts, world or tools change, so that older records are kept apart."""
    begin: Callable[[str], Case] = field(compare=False)
    """The case of one run, from the seed that its identifiers and values are drawn from."""
    changes: Preset = field(default_factory=Preset)
    """What it changes in a configuration, such as a lower limit of argument bytes."""
    tree: JsonText = NOTHING
    """The file that it was read from, as data."""

    @property
    def from_file(self) -> bool:
        """Whether a user's file holds it, so that it is stored whole with results."""
        return self.pack == PACK and self.tree != NOTHING

    @property
    def control(self) -> bool:
        """Whether it is a plain conversation without tools."""
        config = parse(self.changes.config)
        return isinstance(config, Mapping) and config.get("tool_use_mode") == "disabled"

    def scripts(self, seed: str) -> ScenarioScripts:
        """The scripts of one trial.

        :raises ConfigError: if nobody has written a script for the scenario
        """
        scripts = self.begin(seed).scripts
        if scripts is None:
            raise ConfigError(f"scenario {self.name!r} has no scripts; run it with a model")
        return scripts
