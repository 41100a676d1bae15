"""Reads the routes of a proxy from a TOML file: one table for each model, or pattern of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolreel._internal import ProxyConfigError, read_file, read_toml
from toolreel.proxy._settings import Route
from toolreel_core._internal import Table
from toolreel_core._plan import Preset

PresetOf = Callable[[str, tuple[str, ...], str], Preset]
"""The preset for a provider, names of presets, and a model."""


def routes_in(path: Path, preset_of: PresetOf) -> tuple[Route, ...]:
    """The routes in a file, in order.

    :raises ProxyConfigError: if it cannot be read or used; names the place and what is allowed
    """
    missing = "there is no such file; correct --routes"
    text = read_file(path, ProxyConfigError, missing)
    return read_toml(str(path), text, lambda tree: _routes(tree, preset_of), ProxyConfigError)


def _routes(tree: object, preset_of: PresetOf) -> tuple[Route, ...]:
    root = Table.of(tree).only("route")
    return tuple(_route(pattern, table, preset_of) for pattern, table in root.table("route").tables())


def _route(pattern: str, table: Table, preset_of: PresetOf) -> Route:
    table.only("upstream", "provider", "presets", "model", "api_key_env", "api_prefix", "settings")
    if not table.text("upstream"):
        raise table.complaint('expected the base URL of a server, such as upstream = "http://127.0.0.1:8080"')
    provider, presets = table.text("provider"), table.names("presets")
    preset_of(provider, presets, "")  # so that a name that does not exist is told at the start
    return Route(
        upstream=table.text("upstream"),
        model=pattern,
        preset=lambda model: preset_of(provider, presets, model),
        upstream_model=table.text("model"),
        api_key_env=table.text("api_key_env"),
        api_prefix=table.text("api_prefix", "/v1"),
        settings=dict(table.table("settings").values),
    )
