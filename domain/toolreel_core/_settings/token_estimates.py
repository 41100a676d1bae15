"""Token estimators: pure functions by name, so that a configuration can name one.

Four bytes a token is a fair guess for English and JSON, and errs on the safe side for most other scripts.
For exact counts, register the model's own tokenizer with ``toolreel.presets``. An estimate decides whether a
request is sent, so a name must mean the same function wherever a run is replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from toolreel_core._internal import Registry

Estimator: TypeAlias = Callable[[str], int]
"""Returns the number of tokens of a text; pure, and never raises."""

_BYTES_PER_TOKEN: Final = 4
_ESTIMATORS: Final[Registry[Estimator]] = Registry("token estimator")


def register_estimator(name: str, estimate: Estimator) -> None:
    """Give an estimator a name.

    :raises ConfigError: if the name is taken or invalid
    """
    _ESTIMATORS.add(name, estimate)


def estimator(name: str) -> Estimator:
    """The estimator of that name.

    >>> estimator("bytes_per_4")("twelve bytes")
    3

    :raises ConfigError: if there is none, with the nearest name
    """
    return _ESTIMATORS[name]


def bytes_per_4(text: str) -> int:
    """A quarter of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


register_estimator("bytes_per_4", bytes_per_4)
