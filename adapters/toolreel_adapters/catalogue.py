"""Catalogues of presets, models and sampling profiles: the shipped one, and the user's own over it.

A catalogue is a TOML file with tables ``[preset.NAME]``, ``[model."NAME"]`` and ``[sampling.NAME]``.
One of the same name replaces the shipped one, any other is added.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import cache, reduce
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from toolreel.config import LoopConfig
from toolreel.presets import Presets
from toolreel.tables import PlaceError
from toolreel_adapters.errors import CatalogueError

__all__ = ["VARIABLE", "configured", "shipped", "with_files"]

VARIABLE: Final = "TOOLREEL_CATALOGUE"
"""The environment variable with the user's own catalogues, separated as in ``PATH``."""

_SHIPPED: Final = ("providers.toml", "presets.toml", "sampling.toml", "models.toml")
_TITLE: Final = re.compile(r"\s*\[[^\]]")
_KEY: Final = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w.\s-])+?)\s*=""")
_AT: Final = re.compile(r"\(at line (\d+), column \d+\)")


@cache
def shipped() -> Presets:
    """The presets, models and sampling profiles that come with toolreel.

    >>> shipped().for_("openrouter", "deepseek/deepseek-v3.2:nitro").name
    'default_tool_calling + openrouter + deepseek_openrouter_compat'
    """
    folder = files("toolreel_adapters") / "catalogues"
    texts = [(name, (folder / name).read_text(encoding="utf-8")) for name in _SHIPPED]
    return reduce(_extended, texts, Presets())


def with_files(paths: Iterable[Path] = (), environ: Mapping[str, str] | None = None) -> Presets:
    """The shipped collection with files over it, those that the environment names first.

    :param environ: the environment; this process's own by default
    :raises CatalogueError: if a file cannot be read or used; names the file, the line and the place
    """
    named = (os.environ if environ is None else environ).get(VARIABLE, "")
    first = [Path(name) for name in named.split(os.pathsep) if name]
    return reduce(_extended, ((str(path), _text(path)) for path in (*first, *paths)), shipped())


def configured(names: Iterable[str], changes: Mapping[str, Any] | None = None) -> LoopConfig:
    """The configuration that shipped presets, applied in order, and then ``changes`` lead to.

    >>> configured(["qwen2_5_coder"], {"max_turns": 4}).text_dialects[-2:]
    ('llama_json', 'json_fenced')
    """
    preset = shipped().merged(names)
    return LoopConfig.of({**preset.changes()["config"], **(changes or {})})


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CatalogueError(
            f"{path}: there is no such catalogue; correct --catalogue or {VARIABLE}"
        ) from None
    except UnicodeDecodeError as error:
        raise CatalogueError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror}") from None


def _extended(presets: Presets, source: tuple[str, str]) -> Presets:
    """The collection with one catalogue over it, given by name and text."""
    name, text = source
    try:
        return presets.extended(Presets.of(_dated(tomllib.loads(text))))
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = at[1] if at else str(text.count("\n") + 1)
        what = str(error).partition(" (at ")[0]
        raise CatalogueError(f"{name}, line {line}: not TOML: {what[:1].lower()}{what[1:]}") from None
    except PlaceError as error:
        raise CatalogueError(f"{name}, line {_line(text, error.place)}: {error}") from None
    except RecursionError:
        raise CatalogueError(f"{name}: nested too deep; a preset needs only a few levels") from None


def _dated(tree: object) -> object:
    """The tree with days as texts: TOML has days of its own, and JSON has none."""
    if isinstance(tree, dict):
        return {key: _dated(value) for key, value in tree.items()}
    return tree.isoformat() if isinstance(tree, date) and not isinstance(tree, datetime) else tree


def _line(text: str, place: tuple[str, ...]) -> int:
    """The line where a place stands, or else the table around it."""
    table: tuple[str, ...] = ()
    longest, found = 0, 1
    for number, row in enumerate(text.splitlines(), 1):
        if _TITLE.match(row):
            path = table = _path(row) or table
        elif key := _KEY.match(row):
            path = (*table, *_path(f"{key[1]} = 0"))
        else:
            continue
        if len(path) > longest and place[: len(path)] == path:
            longest, found = len(path), number
    return found


def _path(row: str) -> tuple[str, ...]:
    """The keys in a line of TOML, from the outermost."""
    try:
        tree: object = tomllib.loads(row)
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(tree, dict) and tree:
        [(key, tree)] = tree.items()
        path.append(key)
    return tuple(path)
