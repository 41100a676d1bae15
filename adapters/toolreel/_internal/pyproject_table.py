"""The table ``[tool.toolreel]`` of the nearest ``pyproject.toml``: settings that commands and pytest share.

What a command line or an environment variable says goes first. A path is relative to the folder of the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from toolreel._internal.errors import AdapterError, ProjectSettingsError
from toolreel._internal.visible_text import printable_text
from toolreel_core._config_checks import PlaceError, Table
from toolreel_core._jsontext import Tree

# Read TOML files of the user, whose errors name the file and the place; and write them.


_Built = TypeVar("_Built")


def read_text_file(path: Path, kind: type[AdapterError], missing: str) -> str:
    """Read a text file.

    :param missing: error text if the file does not exist
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
    """The value that ``build`` makes of a TOML text, in which dates are strings.

    :param build: raises :class:`~toolreel_core._config_checks.PlaceError` for invalid places
    :raises AdapterError: of class ``kind``, with the place
    """
    try:
        return build(_dates_as_text(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise kind(f"{name}: not TOML: {error}") from None
    except PlaceError as error:
        raise kind(f"{name}: {error}") from None
    except RecursionError:
        raise kind(f"{name}: nested too deep; it needs only a few levels") from None


def _dates_as_text(tree: Any) -> Any:  # noqa: ANN401 - whatever TOML has
    if isinstance(tree, dict):
        return {key: _dates_as_text(value) for key, value in tree.items()}
    # A day without quotes, such as `verified_on` of a preset, is meant as a text.
    return tree.isoformat() if isinstance(tree, date) and not isinstance(tree, datetime) else tree


def toml_text(tree: Tree, comments: Iterable[str] = ()) -> str:
    """The TOML text of a tree, without its nulls, since TOML has none.

    :param comments: at its beginning, a line each
    """
    from tomli_w import dumps  # few commands write a file

    # A comment of TOML takes no control characters.
    lines = [f"# {printable_text(' '.join(each.split()))}\n" for each in comments]
    return "".join(lines) + dumps(_without_nulls(tree))


def _without_nulls(tree: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    if isinstance(tree, Mapping):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list | tuple):
        return [_without_nulls(value) for value in tree if value is not None]
    return tree


PYPROJECT = "pyproject.toml"

_Texts: TypeAlias = str | tuple[str, ...]


class TableKey(NamedTuple):
    kind: Any
    """The annotation of its value."""
    commands: tuple[str, ...] = ()
    """The commands whose option of the same name it is the default of."""
    variable: str = ""
    """The environment variable that it is the default of, in all commands and in pytest."""


EVERY = "every"
"""Stands for every command that has the option."""
_LIVE = ("run", "chat", "resume", "fork", "probe", "worker", "doctor")
_STARTING = ("run", "chat", "submit")
_WITH_TOOLS = ("run", "chat", "resume", "submit", "worker", "tools")
SHARED_KEYS: Mapping[str, TableKey] = {
    "base_url": TableKey(str, _LIVE),
    "api_key_env": TableKey(str, _LIVE),
    "api_key_header": TableKey(str, _LIVE),
    "api_prefix": TableKey(str, _LIVE),
    "header": TableKey(Mapping[str, str], _LIVE),
    "timeout": TableKey(float, _LIVE),
    "model": TableKey(str, (*_STARTING, "probe", "doctor")),
    "provider": TableKey(str, _STARTING),
    "preset": TableKey(_Texts, _STARTING),
    "sampling": TableKey(str, _STARTING),
    "tools": TableKey(_Texts, _WITH_TOOLS),
    "mcp": TableKey(str, _WITH_TOOLS),
    "skills": TableKey(_Texts, _WITH_TOOLS),
    "queue": TableKey(str, ("submit", "worker")),
    "import": TableKey(_Texts, (EVERY,)),
    "catalogue": TableKey(_Texts, variable="TOOLREEL_CATALOGUE"),
    "secrets": TableKey(str, variable="TOOLREEL_SECRETS"),
    "database": TableKey(str, variable="TOOLREEL_DATABASE_URL"),
    "recordings": TableKey(str),
    "allowed_hosts": TableKey(_Texts),
    "vary": TableKey(list),
}
SERVER_KEYS = frozenset({"api_key_env", "api_key_header", "api_prefix", "header"})
"""What is said about the server of ``base_url``; another server gets none of it, least of all its key."""
_FILES = frozenset({"mcp", "skills", "catalogue", "secrets", "recordings"})
_NAMES_OR_FILES = frozenset({"tools", "import", "preset"})
"""Keys whose values are files if they end so; else names of modules or presets."""
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, ())
        return (value,) if isinstance(value, str) else tuple(value)

    def set_unset_variables(self, environ: MutableMapping[str, str]) -> None:
        """Set the variables that keys stand for, where the environment does not."""
        for name, key in SHARED_KEYS.items():
            if key.variable and name in self.values:
                environ.setdefault(key.variable, os.pathsep.join(self.texts(name)))


def project_settings(start: Path) -> ProjectSettings:
    """The settings in the nearest ``pyproject.toml``, from a folder upwards.

    :raises ProjectSettingsError: if the file cannot be read, or a key does not exist or fit; names the place
    """
    for folder in (start, *start.parents):
        path = folder / PYPROJECT
        if path.is_file():
            return _read_settings(path, path.stat().st_mtime_ns)
    return ProjectSettings()


@lru_cache(maxsize=8)
def _read_settings(path: Path, _changed: int) -> ProjectSettings:
    text = read_text_file(path, ProjectSettingsError, "is gone")
    return ProjectSettings(
        path,
        read_toml(str(path), text, lambda tree: _settings_in(path.parent, tree), ProjectSettingsError),
    )


def _settings_in(folder: Path, tree: Mapping[str, Any]) -> dict[str, Any]:
    given = Table.of(tree).table("tool").table("toolreel").only(*SHARED_KEYS)
    placed = dict[str, Any]()
    for key in given.values:
        kind = SHARED_KEYS[key].kind
        value = placed[key] = given.value(key, kind)
        if kind == _Texts:
            texts = (value,) if isinstance(value, str) else value
            placed[key] = [_absolute_path(folder, key, text) for text in texts]
        elif isinstance(value, str):
            placed[key] = _absolute_path(folder, key, value)
        elif isinstance(value, dict):
            placed[key] = [f"{name}={variable}" for name, variable in value.items()]
    if "base_url" not in placed and (of_none := SERVER_KEYS & placed.keys()):
        raise given.error_at("is about the server of base_url: write that, too", min(of_none))
    return placed


def _absolute_path(folder: Path, key: str, text: str) -> str:
    if key == "database" and text.startswith(_SQLITE):
        return f"{_SQLITE}{folder / text.removeprefix(_SQLITE)}"
    is_file = key in _FILES or (key in _NAMES_OR_FILES and text.partition(":")[0].endswith((".py", ".toml")))
    return str(folder / text) if is_file else text
