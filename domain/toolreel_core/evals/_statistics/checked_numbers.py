"""Numbers and probabilities in a plan, checked."""

from __future__ import annotations

from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table


def inside(what: str, value: float) -> float:
    """The same number, if it lies between 0 and 1, and is neither of them.

    >>> inside("confidence", 95)
    Traceback (most recent call last):
    ...
    toolreel_core.ConfigError: confidence: expected a number between 0 and 1, got 95
    """
    if not 0 < value < 1:
        raise ConfigError(f"{what}: expected a number between 0 and 1, got {value!r}")
    return value


def number(table: Table, key: str, default: float | None = None) -> float:
    """The number under a key of a plan.

    :raises PlaceError: if it is none, or is not there and has no default
    """
    value = table.values.get(key, default)
    # Infinity and nan are numbers to TOML, and there is no limit that they could be.
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
        raise table.complaint(f"expected a number, got {value!r}", key)
    return value


def share(table: Table, key: str, default: float | None = None) -> float:
    """The number between 0 and 1 under a key of a plan.

    :raises PlaceError: if it is none, or is not there and has no default
    """
    value = number(table, key, default)
    try:
        return inside(key, value)
    except ConfigError as error:
        raise table.complaint(str(error).removeprefix(f"{key}: "), key) from None
