"""Keys of a plan: each is a field of a class, with its default, its option, its variable and its meaning.

The reader of plan files, the command line, the environment and the documentation all read these fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

from toolreel_core._config_checks import Table
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, read
from toolreel_core.evals._plan.filters import comma_separated

SettingKind: TypeAlias = Literal["words", "switch", "count", "number", "seconds", "text", "texts", "object"]
"""``words``: a list, or a text with commas; ``seconds``: a number, where 0 means no limit; ``texts``: a table
of texts; ``object``: any table."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One key of a plan, and where else its value can be given."""

    place: str
    """Such as ``eval.trials``."""
    kind: SettingKind
    default: Json
    about: str
    """For ``--help`` and the documentation."""
    option: str = ""
    """Of the command line; empty if it has none."""
    variable: str = ""
    """Of the environment, one of the reference harness; empty if there is none."""
    least: int = 0
    metavar: str = ""
    choices: tuple[str, ...] = ()
    reader: Callable[[str], Json] | None = None
    """Reads the variable, where it has words of its own."""

    @property
    def path(self) -> tuple[str, ...]:
        """The place, key by key."""
        return tuple(self.place.split("."))

    def placed(self, value: Json) -> Tree:
        """A plan that has this value, and nothing else."""
        for name in reversed(self.path):
            value = {name: value}
        return as_tree(value)

    def value(self, table: Table) -> Any:  # noqa: ANN401 - of its kind
        """The value that a plan's table has, checked.

        :raises PlaceError: if it is not of its kind
        """
        name = self.path[-1]
        match self.kind:
            case "words":
                text = table.values[name]
                return comma_separated(text) if isinstance(text, str) else table.names(name)
            case "switch":
                return table.switch(name, default=False)
            case "count":
                return table.whole(name, self.least, self.least)
            case "number" | "seconds":
                return table.amount(name)
            case "texts":
                inner = table.table(name)
                return tuple((each, inner.text(each)) for each in inner.values)
            case "object":
                return table.table(name)
            case _:
                return table.choice(name, self.choices) if self.choices else table.text(name)

    def parsed(self, text: str) -> Json:
        """The value that a variable of the environment has.

        Parsed strictly: an invalid value never falls back to the default.

        :raises ConfigError: if it is not of its kind
        """
        return (self.reader or _READERS[self.kind])(text)


def key(
    kind: SettingKind,
    default: Any,  # noqa: ANN401 - of that kind
    about: str,
    option: str = "",
    variable: str = "",
    **more: Any,  # noqa: ANN401 - further fields of a setting
) -> Any:  # noqa: ANN401 - as of dataclasses.field
    """A field that is a key of a plan."""
    metadata = {"kind": kind, "about": about, "option": option, "variable": variable, **more}
    return field(default=default, metadata=metadata)


def settings_of(kind: type, table: str) -> dict[str, Setting]:
    """The keys of a class, as a table of that name has them."""
    found = dict[str, Setting]()
    for each in (each for each in fields(kind) if each.metadata):
        default: Any = [*each.default] if isinstance(each.default, tuple) else each.default or None
        default = {} if each.metadata["kind"] in {"texts", "object"} else default
        found[each.name] = Setting(f"{table}.{each.name}", default=default, **each.metadata)
    return found


def values_in(settings: Mapping[str, Setting], table: Table) -> dict[str, Any]:
    """The values of a table, checked key by key.

    :raises PlaceError: at the first that is wrong, or is no key
    """
    table.only(*settings)
    return {name: each.value(table) for name, each in settings.items() if name in table.values}


_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")


def switch(text: str) -> bool:
    """Whether a text says on.

    :raises ConfigError: if it says neither on nor off
    """
    if text.lower() not in (*_ON, *_OFF):
        raise ConfigError(f"expected 1 or 0, got {text!r}")
    return text.lower() in _ON


def level(text: str) -> int:
    """A number, or a switch."""
    return (
        int(switch(text))
        if text.lower() in {*_ON, *_OFF}
        else int(_parse_number(text, int, "a whole number"))
    )


def _parse_number(text: str, kind: Callable[[str], float], expected: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"expected {expected}, got {text!r}") from None


def json_object(text: str) -> Tree:
    """An object from its JSON.

    :raises ConfigError: if it is none
    """
    tree = read(text).value_or(None)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"expected a JSON object, got {text!r}")
    return tree


_READERS: Final[Mapping[SettingKind, Callable[[str], Json]]] = {
    "words": lambda text: [*comma_separated(text)],
    "switch": switch,
    "count": lambda text: _parse_number(text, int, "a whole number"),
    "number": lambda text: _parse_number(text, float, "a number"),
    "seconds": lambda text: max(0.0, _parse_number(text, float, "a number")),  # 0 or less means no limit
    "text": str,
    "object": json_object,
}
