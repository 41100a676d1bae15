"""The rules of a project: ``[[tool.toolreel.vary]]`` in ``pyproject.toml``.

::

    [[tool.toolreel.vary]]
    pattern = "Now: [0-9-]{10} [0-9:]{5}"
    becomes = "Now: <time>"

    [[tool.toolreel.vary]]
    at = "/metadata/trace_id"
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from toolreel._internal import VaryError, line_at, read_file, read_toml
from toolreel.cassette import Vary, rule_of
from toolreel_core._internal import PlaceError

FILE: Final = "pyproject.toml"
_KEYS: Final = ("vary",)
_PLACE: Final = ("tool", "toolreel", "vary")
_TABLE: Final = re.compile(r"\s*\[\[\s*tool\s*\.\s*toolreel\s*\.\s*vary\s*\]\]")
"""The head of a rule in pyproject.toml, found without parsing the file."""


def project_rules(root: Path) -> tuple[Vary, ...]:
    """The rules in the ``pyproject.toml`` of a folder; none without that file.

    :raises VaryError: if a rule cannot be used; names the line
    """
    path = root / FILE
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else ()


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int) -> tuple[Vary, ...]:
    text = read_file(path, VaryError, "is gone")
    entries = read_toml(str(path), text, _entries, VaryError)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _TABLE.match(line)]
    rules = []
    for n, entry in enumerate(entries):
        line = lines[n] if len(lines) == len(entries) else line_at(text, _PLACE)
        rules.append(rule_of(entry, f"{path}, line {line}: tool.toolreel.vary[{n}]"))
    return tuple(rules)


def _entries(tree: dict[str, Any]) -> list[object]:
    settings = tree.get("tool", {}).get("toolreel", {})
    if not isinstance(settings, dict):
        raise PlaceError(_PLACE[:2], "expected a table")
    for key in settings:
        if key not in _KEYS:
            raise PlaceError((*_PLACE[:2], key), "is no setting; there is vary")
    entries = settings.get("vary", [])
    if not isinstance(entries, list):
        raise PlaceError(_PLACE, "expected tables, [[tool.toolreel.vary]]")
    return entries
