"""Catalogues of presets, models, sampling profiles and prices: the shipped one, extended by your own.

A catalogue is a TOML file with tables ``[preset.NAME]``, ``[model."NAME"]``, ``[sampling.NAME]`` and
``[price."MODEL"]``.
An entry replaces a shipped one of the same name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from pathlib import Path

from toolreel._internal import CatalogueError, read_text_file, read_toml
from toolreel_core._config_checks import unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Preset, Presets

CATALOGUE_VARIABLE = "TOOLREEL_CATALOGUE"
"""Environment variable with the paths of your own catalogues, separated as in ``PATH``."""

_SHIPPED = ("providers.toml", "presets.toml", "sampling.toml", "models.toml", "prices.toml")


@cache
def shipped() -> Presets:
    """The presets, models and sampling profiles that come with toolreel.

    >>> shipped().for_("openrouter", "deepseek/deepseek-v3.2:nitro").name
    'default_tool_calling + openrouter + deepseek_openrouter_compat'
    """
    from importlib.resources import files  # slow to import

    folder = files("toolreel.presets") / "catalogues"
    texts = [(name, (folder / name).read_text(encoding="utf-8")) for name in _SHIPPED]
    return reduce(_presets_with_catalogue, texts, Presets())


def with_files(paths: Iterable[Path | str] = (), environ: Mapping[str, str] | None = None) -> Presets:
    """The shipped collection, extended by the files of the environment, then by ``paths``.

    :param environ: environment variables; by default those of this process
    :raises CatalogueError: if a file cannot be read or used; names the file and the place
    """
    named = (os.environ if environ is None else environ).get(CATALOGUE_VARIABLE, "")
    first = [Path(name) for name in named.split(os.pathsep) if name]
    return reduce(
        _presets_with_catalogue,
        ((str(path), _read_catalogue_text(Path(path))) for path in (*first, *paths)),
        shipped(),
    )


def preset_named(collection: Presets, name: str | Path, model: str = "") -> Preset:
    """A preset by name, all presets of a TOML file, or those of a model by ``PROVIDER/MODEL``.

    :param model: the model, if the name may be that of a provider alone
    :raises CatalogueError: if a file cannot be read or used
    :raises ConfigError: if there is no such preset or provider
    """
    if isinstance(name, Path) or name.endswith(".toml"):
        missing = "there is no such file; give the name of a preset, or of a TOML file with presets"
        alone = _presets_with_catalogue(
            Presets(), (str(name), read_text_file(Path(name), CatalogueError, missing))
        )
        return alone.merged(preset.name for preset in alone.presets)
    if model and collection.defaults(name).names:
        return collection.for_(name, model)
    provider, slash, of_provider = name.partition("/")
    if slash and name not in collection.names:
        return preset_for_provider(collection, provider, of_provider)
    return collection.get(name)


def merge_named_presets(collection: Presets, names: Iterable[str | Path]) -> Preset:
    return reduce(Preset.merged, (preset_named(collection, name) for name in names), Preset())


def chosen_preset(
    provider: str | None, names: Iterable[str | Path] = (), model: str = "", sampling: str | None = None
) -> Preset:
    collection = with_files()
    preset = preset_for_provider(collection, provider, model).merged(merge_named_presets(collection, names))
    return preset.merged(collection.profile(sampling).preset) if sampling else preset


def preset_for_provider(collection: Presets, provider: str | None, model: str = "") -> Preset:
    if not provider:
        return Preset()
    if not collection.defaults(provider).names:
        remedy = "For any other use the preset default_tool_calling."
        raise ConfigError(unknown_name_message("provider", provider, collection.providers, remedy))
    return collection.for_(provider, model)


def _read_catalogue_text(path: Path) -> str:
    missing = f"there is no such catalogue; correct {CATALOGUE_VARIABLE}"
    return read_text_file(path, CatalogueError, missing)


def _presets_with_catalogue(presets: Presets, source: tuple[str, str]) -> Presets:
    return read_toml(*source, lambda tree: presets.extended(Presets.of(tree)), CatalogueError)
