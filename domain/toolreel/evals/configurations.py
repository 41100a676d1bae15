"""Configurations: everything that decides how a run behaves, complete and frozen.

A strategy comes to one of these for each model, profile and scenario, and it is passed to the reducer as
it is: nothing is merged underneath it later, so what is recorded is what was run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolreel.config import LoopConfig
from toolreel.digest import digest
from toolreel.jsontext import NOTHING, JsonText, canonical, parse
from toolreel.messages import Message
from toolreel.plan import Plan
from toolreel.provider import Provider
from toolreel.surface import ToolSurface

__all__ = ["Configuration"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective configuration of a run."""

    config: LoopConfig = field(default_factory=LoopConfig)
    provider: Provider = field(default_factory=Provider)
    options: JsonText = NOTHING
    """Options of the request, the sampling among them; a JSON object."""
    overrides: JsonText = NOTHING
    """What is merged into the request's body, last of all; a JSON object."""
    presets: tuple[str, ...] = ()
    """Names of the presets that it was made of, in order."""

    @property
    def text(self) -> JsonText:
        """All of it that differs from the defaults, as a JSON object."""
        return canonical(
            {
                "config": self.config.changes(),
                "provider": self.provider.changes(),
                "options": parse(self.options),
                "overrides": parse(self.overrides),
                "presets": list(self.presets),
            }
        )

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`text`."""
        return digest(self.text)

    def plan(self, model: str, messages: Iterable[Message], tools: ToolSurface, seed: int = 0) -> Plan:
        """The plan of a run under this configuration."""
        return Plan(
            model,
            tuple(messages),
            self.options,
            tools,
            self.config,
            seed,
            self.provider,
            self.overrides,
            self.presets,
        )
