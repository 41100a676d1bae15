"""Configurations of runs: each is the complete, frozen settings of one run.

A strategy yields one for each model, profile and scenario. It is passed to the reducer unchanged, and
nothing is merged into it later, so the recorded configuration is the one that was run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from toolreel_core._conversation import Message
from toolreel_core._internal import Table
from toolreel_core._jsontext import NOTHING, JsonText, Tree, as_tree, canonical, digest, parse
from toolreel_core._plan import Plan, Preset, exact_config
from toolreel_core._settings import LoopConfig, Price, Provider
from toolreel_core._tools import ToolSurface, masked


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
    allowed_tools: tuple[str, ...] = ()
    """Names or patterns of the tools that may be called; none: all that the scenario exposes."""
    seeded: bool = False
    """Whether each run sends a ``seed`` of its own, so that trials differ and can be repeated."""
    model: str = ""
    """The name that is sent for the model; empty: its name in the plan."""
    price: Price | None = None
    """What the model costs, where the cost of the run is limited; else a price decides nothing."""

    @property
    def text(self) -> JsonText:
        """The settings that differ from their defaults, as a JSON object; :meth:`of` reads it."""
        return _text_of(self)

    @classmethod
    def of(cls, text: JsonText) -> Configuration:
        """Read :attr:`text`.

        :raises ConfigError: if a key or value is unknown
        """
        table = Table.of(parse(text)).only(*cls.__dataclass_fields__)
        return cls(
            LoopConfig.of(table.table("config").values),
            Provider.of(table.table("provider").values),
            table.table("options").json(),
            table.table("overrides").json(),
            table.names("presets"),
            table.names("allowed_tools"),
            table.switch("seeded", False),
            table.text("model"),
            Price.of(table.table("price")) if "price" in table.values else None,
        )

    @property
    def preset(self) -> Preset:
        """The configuration as a preset, so that two can be compared key by key."""
        return Preset(
            self.presets,
            config=exact_config(self.config),
            provider=canonical(self.provider.changes()),
            request=self.options,
            request_overrides=self.overrides,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`text`."""
        return digest(self.text)

    def plan(self, model: str, messages: Iterable[Message], tools: ToolSurface, seed: int = 0) -> Plan:
        """The plan of a run under this configuration.

        :param seed: of whatever the run draws by chance; sent with its requests where it is seeded
        :raises ConfigError: if the settings contradict each other, or an allowed tool does not exist
        """
        return Plan(
            self.model or model,
            tuple(messages),
            canonical({**object_of(self.options), "seed": seed}) if self.seeded else self.options,
            masked(tools, allow=self.allowed_tools or None) if tools.definitions else tools,
            self.config,
            seed,
            self.provider,
            self.overrides,
            self.presets,
            price=self.price,
        )


def object_of(text: JsonText) -> Tree:
    """A JSON object, parsed; anything else counts as an empty one."""
    return as_tree(parse(text))


@lru_cache(maxsize=64)  # each run of a cell records it, and a plan has few cells
def _text_of(made: Configuration) -> JsonText:
    return canonical(
        {
            "config": made.config.changes(),
            "provider": made.provider.changes(),
            "options": parse(made.options),
            "overrides": parse(made.overrides),
            "presets": list(made.presets),
            "allowed_tools": list(made.allowed_tools),
            "seeded": made.seeded,
            **({"model": made.model} if made.model else {}),
            **({"price": {"input": it.input, "output": it.output}} if (it := made.price) else {}),
        }
    )
