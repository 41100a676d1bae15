"""Registries of named functions, and suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from toolreel_core._errors import ConfigError
from toolreel_core._lazy_pattern import lazy_pattern

_MANY: Final = 30
_FEW: Final = 12


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The complaint about a name that does not exist, with the nearest one that does.

    >>> unknown_name("setting", "max_turn", ["max_turns"])
    "there is no setting 'max_turn'; did you mean 'max_turns'?"
    """
    names = list(known)
    from difflib import get_close_matches  # noqa: PLC0415 - few programs have a wrong name

    # Below 0.65, short names match by chance: 'nope' is 0.6 of 'openai'. Related names begin alike, or one
    # contains the other.
    alike = [one for one in names if one[:1] == name[:1] or name in one]
    close = get_close_matches(name, names, n=1, cutoff=0.65) or get_close_matches(name, alike, 1, 0.5)
    # A line with all the dialects says less than one that can be read.
    shown = names if len(names) <= _MANY else [*names[:_FEW], f"and {len(names) - _FEW} more"]
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(shown)}"
    return f"there is no {what} {name!r}; {hint}"


def unregistered(what: str, name: str, known: Iterable[str]) -> str:
    """The complaint about a name in a plan that is not registered.

    A plan has only the name, and the process that loads it may not have imported the function yet.
    """
    hint = unknown_name(what, name, known)
    stop = "" if hint.endswith("?") else "."
    first = "before you make or load the plan; a command does with --import MODULE"
    return f"{hint}{stop} If it is your own, import the module that registers it {first}"


_NAME: Final = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
"""A registered name; it stands in plans, so it is kept simple."""

_Thing = TypeVar("_Thing")


class Registry(Generic[_Thing]):
    """What there is of one kind, by name.

    :param kind: what errors call it, such as ``history policy``
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._things: dict[str, _Thing] = {}

    def add(self, name: str, thing: _Thing) -> None:
        """Give something a name, once and for all.

        >>> shades = Registry[int]("shade")
        >>> shades.add("dark", 9)
        >>> shades.add("dark", 8)
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is a shade 'dark' already; choose another name

        :raises ConfigError: if the name is taken, or is none
        """
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{self._kind} {name!r}: a name begins with a small letter and has only small letters, "
                "digits and _, at most 64"
            )
        if name in self._things:
            raise ConfigError(f"there is a {self._kind} {name!r} already; choose another name")
        self._things[name] = thing

    def __getitem__(self, name: str) -> _Thing:
        """What has that name.

        :raises ConfigError: if nothing has; it names the nearest
        """
        if name not in self._things:
            raise ConfigError(unregistered(self._kind, name, self._things))
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        """All names, in the order in which they were added."""
        return iter(self._things)


# Patterns in which ``*`` stands for any text.


def fits(pattern: str, text: str) -> bool:
    """Whether the whole text matches the pattern.

    Each part is searched as early as possible. That is never wrong for ``*``, and needs no backtracking,
    which a regular expression with several ``.*`` would.

    >>> fits("files.*", "files.read"), fits("*read", "files.read"), fits("files", "files.read")
    (True, True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
