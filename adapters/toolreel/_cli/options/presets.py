"""Options that select presets, and the preset that they result in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from toolreel.presets._catalogues import CATALOGUE_VARIABLE
from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._plan.presets.collection import Presets
from toolreel_core._plan.presets.preset import Preset

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
preset_option = click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="Apply a named preset on top of --provider; `toolreel presets` lists them. Repeatable.",
)
sampling_option = click.option(
    "--sampling",
    metavar="PROFILE",
    help="Apply a sampling profile on top of presets; `toolreel presets sampling` lists them.",
)


def composed_preset(
    collection: Presets,
    *,
    provider: str | None = None,
    model: str = "",
    names: Sequence[str] = (),
    sampling: str | None = None,
) -> Preset:
    """The provider's preset, then named presets, then a sampling profile: later ones override earlier ones.

    :raises ConfigError: if one of them does not exist
    """
    preset = _at_provider(collection, provider, model) if provider else Preset()
    preset = preset.merged(collection.merged(names))
    return preset.merged(collection.profile(sampling).preset) if sampling else preset


def preset_named(collection: Presets, name: str) -> Preset:
    """A preset by name, or the combined preset of a model at a provider by ``PROVIDER/MODEL``."""
    provider, slash, model = name.partition("/")
    if slash and name not in collection.names:
        return _at_provider(collection, provider, model)
    return collection.get(name)


def _at_provider(collection: Presets, provider: str, model: str) -> Preset:
    if not collection.defaults(provider).names:
        known = unknown_name("provider", provider, collection.providers)
        stop = "" if known.endswith("?") else "."
        raise ConfigError(f"{known}{stop} For any other use --preset default_tool_calling instead.")
    return collection.for_(provider, model)
