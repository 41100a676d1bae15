"""How a run behaves, as data: limits and choices, validated once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Final

from toolreel.errors import ConfigError
from toolreel.jsontext import MAX_DEPTH, Json
from toolreel.text_dialects import DIALECTS

__all__ = ["LoopConfig", "unknown_name"]


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """Limits and choices of the loop.

    :raises ConfigError: if a value is out of range; the text names the key and what is allowed
    """

    max_turns: int = 12
    """Requests to the model before the run ends as ``max_turns``."""
    max_tool_args_bytes: int = 200_000
    """UTF-8 bytes of a call's arguments, as the model wrote them, that may reach a tool."""
    max_tool_output_bytes: int = 200_000
    """UTF-8 bytes of a tool's output that may reach the model."""
    max_argument_depth: int = 64
    """Levels of nesting in a call's arguments; at most what can be read back, 128."""
    text_dialects: tuple[str, ...] = ()
    """Ways of writing a tool call as text that are read as calls; none unless asked for."""

    def __post_init__(self) -> None:
        for key in _COUNTS:
            _check_count(key, getattr(self, key))
        if self.max_argument_depth > MAX_DEPTH:
            raise ConfigError(f"max_argument_depth: at most {MAX_DEPTH}, got {self.max_argument_depth}")
        for name in self.text_dialects:
            if name not in DIALECTS:
                raise ConfigError(f"text_dialects: {unknown_name('dialect', name, DIALECTS)}")

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> LoopConfig:
        """The defaults with these changes.

        >>> LoopConfig.of({"max_turn": 3})
        Traceback (most recent call last):
        ...
        toolreel.errors.ConfigError: there is no setting 'max_turn'; did you mean 'max_turns'?
        """
        known = [setting.name for setting in fields(cls)]
        for key in changes:
            if key not in known:
                raise ConfigError(unknown_name("setting", key, known))
        dialects = changes.get("text_dialects", ())
        if not _are_names(dialects):
            raise ConfigError(f"text_dialects: expected a list of names, got {dialects!r}")
        return cls(**{**changes, "text_dialects": tuple(dialects)})

    def changes(self) -> dict[str, Json]:
        """The settings that differ from their defaults.

        >>> LoopConfig(max_turns=3).changes()
        {'max_turns': 3}
        """
        given = ((setting, getattr(self, setting.name)) for setting in fields(self))
        return {setting.name: value for setting, value in given if value != setting.default}


_COUNTS: Final = ("max_turns", "max_tool_args_bytes", "max_tool_output_bytes", "max_argument_depth")


def unknown_name(what: str, name: str, known: Mapping[str, object] | list[str] | tuple[str, ...]) -> str:
    """The complaint about a name that does not exist, with the nearest one that does."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
    return f"there is no {what} {name!r}; {hint}"


def _are_names(value: object) -> bool:
    if isinstance(value, str) or not isinstance(value, Collection):
        return False
    return all(isinstance(name, str) for name in value)


def _check_count(key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{key}: expected a whole number of at least 1, got {value!r}")
