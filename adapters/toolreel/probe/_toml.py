"""Write a preset as a catalogue in TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from toolreel_core._jsontext import Json, Tree

_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML takes without quotes."""


def catalogue_text(name: str, preset: Tree, comments: Iterable[str] = ()) -> str:
    """A catalogue with one preset.

    >>> print(catalogue_text("mine", {"about": "Fast.", "provider": {"id_style": "kimi"}}, ["Made."]), end="")
    # Made.
    [preset.mine]
    about = "Fast."
    <BLANKLINE>
    [preset.mine.provider]
    id_style = "kimi"
    """
    return "\n".join([*(f"# {line}" for line in comments), *_table(f"preset.{_key(name)}", preset)]) + "\n"


def _table(place: str, table: Tree) -> Iterator[str]:
    yield f"[{place}]"
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield ""
            yield from _table(f"{place}.{_key(key)}", value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Json) -> str:
    """A value; TOML takes the strings of JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
