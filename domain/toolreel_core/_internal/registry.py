"""Named functions that users may add to: configuration carries the name, and stays data.

What a module registers, it registers when it is imported; after that a name always means the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from toolreel_core._errors import ConfigError
from toolreel_core._internal.suggestions import unknown_name

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")

_Thing = TypeVar("_Thing")


class Registry(Generic[_Thing]):
    """What there is of one kind, by name.

    :param kind: what errors call it, such as ``history policy``
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._things: dict[str, _Thing] = {}
        self._about: dict[str, str] = {}

    def add(self, name: str, thing: _Thing, about: str = "") -> None:
        """Give something a name, once and for all.

        >>> shades = Registry[int]("shade")
        >>> shades.add("dark", 9)
        >>> shades.add("dark", 8)
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is a shade 'dark' already; choose another name

        :param about: one sentence for listings
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
        self._about[name] = about

    def __getitem__(self, name: str) -> _Thing:
        """What has that name.

        :raises ConfigError: if nothing has; it names the nearest
        """
        if name not in self._things:
            raise ConfigError(unknown_name(self._kind, name, self._things))
        return self._things[name]

    def about(self) -> Mapping[str, str]:
        """All names, in the order in which they came, each with its sentence."""
        return dict(self._about)
