"""Read TOML files of the user; errors name the file and the place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

from toolreel._internal.errors import AdapterError
from toolreel_core._config_checks import PlaceError

_Built = TypeVar("_Built")


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
    :raises AdapterError: of class ``kind``, with the place
    """
    try:
        return build(_dated(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise kind(f"{name}: not TOML: {error}") from None
    except PlaceError as error:
        raise kind(f"{name}: {error}") from None
    except RecursionError:
        raise kind(f"{name}: nested too deep; it needs only a few levels") from None


def _dated(tree: Any) -> Any:  # noqa: ANN401 - whatever TOML has
    """The tree with dates as strings, since JSON has no dates."""
    if isinstance(tree, dict):
        return {key: _dated(value) for key, value in tree.items()}
    return tree.isoformat() if isinstance(tree, date) and not isinstance(tree, datetime) else tree
