"""Reading what an older toolreel wrote: every version of a format is brought to the next, up to the newest.

A format that changes gets one function more, from the JSON of the version before to that of the new one,
and a recording of the version before, which is read for ever after (``tests/versions/``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from toolreel._errors import AdapterError

__all__ = ["Versions"]

_Document = TypeVar("_Document")


@dataclass(frozen=True, slots=True)
class Versions(Generic[_Document]):
    """The versions of a format, counted from 1."""

    name: str
    """What is written in it, for messages."""
    error: type[AdapterError]
    """What is raised for a version that is not known."""
    migrations: tuple[Callable[[_Document], _Document], ...] = ()
    """The first brings version 1 to version 2, and so on; pure, they leave what they get as it is."""

    @property
    def newest(self) -> int:
        """The version that is written."""
        return 1 + len(self.migrations)

    def newest_of(self, document: _Document, found: object, place: str) -> _Document:
        """A document in the newest version.

        :param found: the version that it says it has
        :raises AdapterError: if no toolreel wrote such a version, or only a newer one; names the remedy
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
