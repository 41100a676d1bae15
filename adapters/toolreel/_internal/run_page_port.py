"""The port of :meth:`Run.view`: drivers make runs, and a package above them makes pages of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_providers: list[Callable[[], Any]] = []


def register_run_pages_loader(load: Callable[[], object]) -> None:
    """Say which module makes the pages; loaded when the first one is needed. ``toolreel`` calls this."""
    _providers[:] = [load]


def run_page_module() -> Any:  # noqa: ANN401 - ``toolreel._replay.run_page``, which is above this package
    return _providers[0]()
