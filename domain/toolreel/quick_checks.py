"""Validators that somebody else brings, for arguments that fit their schema.

Such a validator only ever says that a value fits. Of everything else jsonschema decides, and says what is
wrong in the same words as ever; so a run is the same with it and without it, and only faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from toolreel.jsontext import Json, JsonText

__all__ = ["Check", "Compiler", "fits", "register_validator"]

Check: TypeAlias = Callable[[Json], bool]
"""Whether a value fits the schema that it was compiled from, with no doubt."""

Compiler: TypeAlias = Callable[[JsonText], Check | None]
"""Makes a check of a schema, or nothing where it would not always agree with jsonschema."""

_COMPILERS: Final[dict[Compiler, None]] = {}


def register_validator(compiler: Compiler) -> None:
    """Have arguments looked at by a faster validator first; done once, before any run begins.

    :param compiler: its checks may be true only of values in which jsonschema finds nothing wrong
    """
    _COMPILERS[compiler] = None
    _checks.cache_clear()


def fits(schema: JsonText, value: Json) -> bool:
    """Whether a registered validator says that a value fits; that none does, means nothing."""
    checks = _checks(schema)
    return bool(checks) and any(check(value) for check in checks)


@lru_cache(maxsize=1024)
def _checks(schema: JsonText) -> tuple[Check, ...]:
    compiled = [compiler(schema) for compiler in _COMPILERS]
    return tuple([check for check in compiled if check is not None])
