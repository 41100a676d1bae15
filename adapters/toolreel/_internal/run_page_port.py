"""The port of :meth:`Run.view`: drivers make runs, and a package above them makes pages of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class RunPages(Protocol):
    """Makes HTML pages of runs; ``toolreel._replay.run_page`` does."""

    def view_run(
        self,
        run: Any,  # noqa: ANN401 - a Run, whose module is above this one
        recording: Path | None,
        file: Path | str | None,
        shown: Callable[[str], str],
        *,
        opens: bool,
    ) -> Path:
        """Write the page of a run, and open it."""
        ...

    def in_notebook(
        self,
        run: Any,  # noqa: ANN401 - as above
        recording: Path | None,
        shown: Callable[[str], str],
    ) -> str:
        """The page of a run, for a cell of a notebook."""
        ...


_providers: list[Callable[[], RunPages]] = []


def provide_run_pages(load: Callable[[], RunPages]) -> None:
    """Say who makes the pages; it is loaded when the first one is wanted. ``toolreel`` itself calls this."""
    _providers[:] = [load]


def run_pages() -> RunPages:
    """Who makes the pages of runs."""
    return _providers[0]()
