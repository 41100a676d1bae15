"""Telling somebody what a run decides or what the model says, without letting them disturb the run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["tell"]

_Shown = TypeVar("_Shown")


def tell(observe: Callable[[_Shown], None] | None, shown: Iterable[_Shown]) -> None:
    """Show each note or delta to the observer; its own failures become warnings."""
    if observe is None:
        return
    for each in shown:
        try:
            observe(each)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the observer's and not the run's
            warnings.warn(
                f"the observer failed on {type(each).__name__}: {error!r}", RuntimeWarning, stacklevel=2
            )
