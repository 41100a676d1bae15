"""Telling an observer what a run decides, without letting it disturb the run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from toolreel.notes import Note
from toolreel_adapters.ports import Observer

__all__ = ["tell"]


def tell(observe: Observer | None, notes: Iterable[Note]) -> None:
    """Show each note to the observer; its own failures become warnings."""
    if observe is None:
        return
    for note in notes:
        try:
            observe(note)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the observer's and not the run's
            warnings.warn(
                f"the observer failed on {type(note).__name__}: {error!r}", RuntimeWarning, stacklevel=2
            )
