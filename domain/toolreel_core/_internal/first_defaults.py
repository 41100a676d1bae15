"""Defaults that were changed, and the ones that records leave out.

A record omits a field that has its *first* default, whatever the default is today. So a default may change
without changing what any record means, and a new record spells the new default out (docs/decisions/0092).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, Final, Protocol

_FIRST: Final = "first_default"


class _HasFields(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def first_default(value: object) -> Mapping[str, object]:
    """Metadata of a field whose default was changed.

    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Settings:
    ...     tries: int = field(default=3, metadata=first_default(1))
    >>> Settings().tries, left_out(fields(Settings)[0]), changed_defaults(Settings)
    (3, 1, {'tries': 1})
    """
    return {_FIRST: value}


def left_out(setting: Field[Any]) -> object:
    """The value of a field that records leave out."""
    return setting.metadata.get(_FIRST, setting.default)


def changed_defaults(kind: type[_HasFields]) -> dict[str, Any]:
    """The fields of a class whose default was changed, with what a record means that leaves them out."""
    return {item.name: item.metadata[_FIRST] for item in fields(kind) if _FIRST in item.metadata}
