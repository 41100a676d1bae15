"""Calls a callback with notes or deltas; an exception of the callback becomes a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")


def tell(observe: Callable[[_Item], None] | None, items: Iterable[_Item]) -> None:
    """Call the observer with each note or delta; its exceptions become a ``RuntimeWarning``."""
    if observe is None:
        return
    for item in items:
        try:
            observe(item)
        except Exception as error:  # noqa: BLE001 - a broken progress display must not end a run
            warnings.warn(
                f"the observer failed on {type(item).__name__}: {error!r}", RuntimeWarning, stacklevel=2
            )
