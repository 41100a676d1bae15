"""Validators before jsonschema, for arguments that fit their schema.

Such a validator only ever says that a value fits. Of everything else jsonschema decides, and says what is
wrong in the same words as ever; so a run is the same with it and without it, and only faster. One for plain
schemas is always there; those that somebody else brings are asked about all other schemas.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core._schema.compiled import Check, compiled

__all__ = ["Compiler", "fits", "register_validator"]

Compiler: TypeAlias = Callable[[JsonText], Check | None]
"""Makes a check of a schema, or nothing where it would not always agree with jsonschema."""

_COMPILERS: Final[dict[Compiler, None]] = {}


def register_validator(compiler: Compiler) -> None:
    """Have arguments for schemas that are not plain looked at by a faster validator first.

    It is done once, before any run begins.

    :param compiler: its checks may be true only of values in which jsonschema finds nothing wrong
    """
    _COMPILERS[compiler] = None
    _check.cache_clear()


def fits(schema: JsonText, value: Json) -> bool:
    """Whether a validator before jsonschema says that a value fits; that none does, means nothing."""
    return _check(schema)(value)


@lru_cache(maxsize=1024)
def _check(schema: JsonText) -> Check:
    plain = compiled(schema)
    if plain is not None:
        return plain
    found = [compiler(schema) for compiler in _COMPILERS]
    checks = [check for check in found if check is not None]
    return lambda value: any(check(value) for check in checks)
