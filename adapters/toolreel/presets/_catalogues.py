"""Catalogues of presets, models, sampling profiles and prices: the shipped one, extended by your own.

A catalogue is a TOML file with tables ``[preset.NAME]``, ``[model."NAME"]``, ``[sampling.NAME]`` and
``[price."MODEL"]``.
An entry replaces a shipped one of the same name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from importlib.resources import files
from pathlib import Path
from typing import Final

from toolreel._internal import CatalogueError, read_file, read_toml
from toolreel_core._plan import Presets

CATALOGUE_VARIABLE: Final = "TOOLREEL_CATALOGUE"
"""Environment variable with the paths of your own catalogues, separated as in ``PATH``."""

_SHIPPED: Final = ("providers.toml", "presets.toml", "sampling.toml", "models.toml", "prices.toml")


@cache
def shipped() -> Presets:
    """The presets, models and sampling profiles that come with toolreel.

    >>> shipped().for_("openrouter", "deepseek/deepseek-v3.2:nitro").name
    'default_tool_calling + openrouter + deepseek_openrouter_compat'
    """
    folder = files("toolreel.presets") / "catalogues"
    texts = [(name, (folder / name).read_text(encoding="utf-8")) for name in _SHIPPED]
    return reduce(_extended, texts, Presets())


def with_files(paths: Iterable[Path | str] = (), environ: Mapping[str, str] | None = None) -> Presets:
    """The shipped collection, extended by the files of the environment, then by ``paths``.

    :param environ: environment variables; by default those of this process
    :raises CatalogueError: if a file cannot be read or used; names the file, the line and the place
    """
    named = (os.environ if environ is None else environ).get(CATALOGUE_VARIABLE, "")
    first = [Path(name) for name in named.split(os.pathsep) if name]
    return reduce(_extended, ((str(path), _text(Path(path))) for path in (*first, *paths)), shipped())


def only_file(path: Path) -> Presets:
    """What one file has, without the shipped collection.

    :raises CatalogueError: as :func:`with_files`
    """
    missing = "there is no such file; give the name of a preset, or of a TOML file with presets"
    return _extended(Presets(), (str(path), read_file(path, CatalogueError, missing)))


def _text(path: Path) -> str:
    missing = f"there is no such catalogue; correct --catalogue or {CATALOGUE_VARIABLE}"
    return read_file(path, CatalogueError, missing)


def _extended(presets: Presets, source: tuple[str, str]) -> Presets:
    """The collection, extended by one catalogue, given as name and text."""
    return read_toml(*source, lambda tree: presets.extended(Presets.of(tree)), CatalogueError)
