"""Read TOML files of the user; errors name the file and the line."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar

from toolreel._internal.errors import AdapterError
from toolreel_core._config_checks import PlaceError
from toolreel_core._lazy_pattern import lazy_pattern

_Built = TypeVar("_Built")

_TITLE: Final = lazy_pattern(r"\s*\[[^\]]")
"""The head of a table."""
# A key, bare, quoted or dotted, before the equals sign.
_KEY: Final = lazy_pattern(r"""\s*+((?:"[^"]*"|'[^']*'|[\w.-]++|\s++(?!=))+)\s*+=""")
_NAME: Final = lazy_pattern(r"""\s*+name\s*+=\s*+["']([^"']*+)["']""")
_AT: Final = lazy_pattern(r"\(at line (\d+), column \d+\)")
"""The place in an error of ``tomllib``."""


def read_file(path: Path, kind: type[AdapterError], missing: str) -> str:
    """Read a text file.

    :param missing: error text if the file does not exist
    :raises AdapterError: of class ``kind``, if it cannot be read
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise kind(f"{path}: {missing}") from None
    except UnicodeDecodeError as error:
        raise kind(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise kind(f"{path}: cannot be read: {error.strerror}") from None


def read_toml(
    name: str, text: str, build: Callable[[dict[str, Any]], _Built], kind: type[AdapterError]
) -> _Built:
    """Parse TOML, and build a value from it; dates become strings.

    :param name: name of the file, for errors
    :param build: raises :class:`~toolreel_core._config_checks.PlaceError` for invalid places
    :raises AdapterError: of class ``kind``, with the line
    """
    try:
        return build(_dated(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = at[1] if at else str(text.count("\n") + 1)
        what = str(error).partition(" (at ")[0]
        raise kind(f"{name}, line {line}: not TOML: {what[:1].lower()}{what[1:]}") from None
    except PlaceError as error:
        raise kind(f"{name}, line {line_at(text, error.place)}: {error}") from None
    except RecursionError:
        raise kind(f"{name}: nested too deep; it needs only a few levels") from None


def line_at(text: str, place: tuple[str, ...]) -> int:
    """The line of a key, or else of the table around it; a number or name says which of an array is meant."""
    table: tuple[str, ...] = ()
    items, rows = Counter[tuple[str, ...]](), text.splitlines()
    longest, found = 0, 1
    for number, row in enumerate(rows, 1):
        if _TITLE.match(row):
            path = _keys_of_line(row) or table
            if row.lstrip().startswith("[["):
                items[path] += 1
                names = map(_NAME.match, takewhile(lambda each: not _TITLE.match(each), rows[number:]))
                labels = {str(items[path]), *(name[1] for name in names if name)}
                path += tuple(label for label in place[len(path) : len(path) + 1] if label in labels)
            table = path
        elif key := _KEY.match(row):
            path = (*table, *_keys_of_line(f"{key[1]} = 0"))
        else:
            continue
        if len(path) > longest and place[: len(path)] == path:
            longest, found = len(path), number
    return found


def _dated(tree: Any) -> Any:  # noqa: ANN401 - whatever TOML has
    """The tree with dates as strings, since JSON has no dates."""
    if isinstance(tree, dict):
        return {key: _dated(value) for key, value in tree.items()}
    return tree.isoformat() if isinstance(tree, date) and not isinstance(tree, datetime) else tree


def _keys_of_line(row: str) -> tuple[str, ...]:
    """The keys in a line of TOML, from the outermost."""
    try:
        tree: object = tomllib.loads(row)
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(tree, dict) and tree:
        [(key, tree)] = tree.items()
        path.append(key)
        tree = tree[0] if isinstance(tree, list) and tree else tree
    return tuple(path)
