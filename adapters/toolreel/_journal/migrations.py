"""Versions of a file format, and the migrations from each version to the next.

When a format changes, add one migration (from the JSON of the old version to the new one) and a recording of
the old version to ``tests/versions/``, so that it stays readable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from toolreel._internal.errors import AdapterError

_Document = TypeVar("_Document")


@dataclass(frozen=True, slots=True)
class Versions(Generic[_Document]):
    """The versions of a format, counted from 1."""

    name: str
    """The name of the format, for messages."""
    error: type[AdapterError]
    """Raised for an unknown version."""
    migrations: tuple[Callable[[_Document], _Document], ...] = ()
    """The first converts version 1 to 2, and so on. Pure functions: they do not change their argument."""

    @property
    def newest(self) -> int:
        """The version that is written."""
        return 1 + len(self.migrations)

    def newest_of(self, document: _Document, found: object, place: str) -> _Document:
        """A document in the newest version.

        :raises AdapterError: if the version is invalid or newer than this toolreel; says what to do
        """
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise self.error(f"{place}: {found!r} is no version of a {self.name}; record it again")
        if found > self.newest:
            from importlib.metadata import version as version_of

            up_to = "version 1" if self.newest == 1 else f"versions 1 to {self.newest}"
            raise self.error(
                f"{place}: a {self.name} of version {found}, which a newer toolreel wrote; this one, "
                f"{version_of('toolreel')}, reads {up_to}: pip install --upgrade toolreel, or record it again"
            )
        for migrate in self.migrations[found - 1 :]:
            document = migrate(document)
        return document
