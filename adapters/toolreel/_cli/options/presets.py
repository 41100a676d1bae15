"""Options that select presets, and the preset that they result in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.option_bundle import bundle
from toolreel.presets._catalogues import CATALOGUE_VARIABLE, only_file, with_files
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._plan.presets.collection import Presets
from toolreel_core._plan.presets.preset import Preset

NO_PRESETS: Final = (
    "No provider is named, so no provider's presets apply; name it with --provider (`toolreel presets` lists "
    "them)."
)

catalogue_option = click.option(
    "--catalogue",
    "catalogues",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=f"TOML file with presets of your own. Repeatable. {CATALOGUE_VARIABLE} sets files for all commands.",
)
provider_option = click.option(
    "--provider",
    metavar="NAME",
    help="Use the defaults for this provider and the workarounds for the model; `toolreel presets` lists "
    "them.",
)


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """The values of the options that select presets."""

    provider: str | None
    presets: tuple[str, ...]
    sampling: str | None
    catalogues: tuple[Path, ...]

    @property
    def named(self) -> bool:
        """Whether a provider or a preset is named."""
        return bool(self.provider or self.presets)

    def preset(self, model: str = "") -> Preset:
        """The provider's preset, then named presets, then a sampling profile; later ones win.

        :raises ConfigError: if one of them does not exist
        """
        collection = with_files(self.catalogues)
        named = reduce(Preset.merged, (preset_named(collection, name) for name in self.presets), Preset())
        preset = at_provider(collection, self.provider, model).merged(named)
        return preset.merged(collection.profile(self.sampling).preset) if self.sampling else preset


preset_options = bundle(
    "presets",
    PresetChoice,
    provider_option,
    click.option(
        "--preset",
        "presets",
        multiple=True,
        metavar="NAME",
        help="Apply a named preset on top of --provider (`toolreel presets` lists them), or all presets of a "
        "TOML file, such as one of `toolreel probe`. Repeatable.",
    ),
    click.option(
        "--sampling",
        metavar="PROFILE",
        help="Apply a sampling profile on top of presets; `toolreel presets sampling` lists them.",
    ),
    catalogue_option,
)
"""Adds the options that select presets to a command, which receives them as one argument ``presets``."""


def is_file(name: str) -> bool:
    """Whether the name of a preset is that of a file.

    >>> is_file("probe--qwen.toml"), is_file("openrouter/google/gemini")
    (True, False)
    """
    return name.endswith(".toml")


def preset_named(collection: Presets, name: str) -> Preset:
    """A preset by name, all presets of a file, or that of a model at a provider by ``PROVIDER/MODEL``."""
    if is_file(name):
        alone = only_file(Path(name))
        return alone.merged(preset.name for preset in alone.presets)
    provider, slash, model = name.partition("/")
    if slash and name not in collection.names:
        return at_provider(collection, provider, model)
    return collection.get(name)


def preset_of_provider_or_name(collection: Presets, name: str, model: str) -> Preset:
    """The preset of a model at a provider, if the name is a provider's; else the preset of that name."""
    if collection.defaults(name).names:
        return collection.for_(name, model)
    return preset_named(collection, name)


def at_provider(collection: Presets, provider: str | None, model: str = "") -> Preset:
    """The preset of a model at a provider; without a provider, one that changes nothing.

    :raises ConfigError: if there is no such provider
    """
    if not provider:
        return Preset()
    if not collection.defaults(provider).names:
        known = unknown_name("provider", provider, collection.providers)
        stop = "" if known.endswith("?") else "."
        raise ConfigError(f"{known}{stop} For any other use --preset default_tool_calling instead.")
    return collection.for_(provider, model)
