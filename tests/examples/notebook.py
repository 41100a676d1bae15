"""Execute a notebook as Jupyter does; ``python -m tests.examples.notebook`` writes the outputs again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

from tests.docs.snippets import ROOT
from tests.patience import HANG

_PAGE: Final = re.compile(r"<details>.*?</details>", re.DOTALL)
_TIME: Final = re.compile(r"(<th[^>]*>time</th><td[^>]*>)[^<]+")
NOTEBOOK: Final = ROOT / "examples" / "notebook.ipynb"


def read(path: Path) -> Any:  # noqa: ANN401 - nbformat has no types for it
    """A notebook as it is stored."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path) -> Any:  # noqa: ANN401 - see above
    """The notebook after all cells have run, in its folder, in a new kernel.

    :raises CellExecutionError: if a cell raises
    """
    notebook = read(path)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook,
        timeout=int(HANG),
        startup_timeout=int(HANG),
        resources=resources,
        record_timing=False,
        coalesce_streams=True,  # however often the kernel flushes
    )
    return client.execute()


def outputs(notebook: Any) -> list[Any]:  # noqa: ANN401 - see above
    """What each cell with code shows, without what is never the same: how long a run took, and its page."""
    return [
        [_untimed(dict(shown)) for shown in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _untimed(shown: dict[str, Any]) -> dict[str, Any]:
    data = {kind: _TIME.sub(r"\1", _PAGE.sub("", text)) for kind, text in shown.get("data", {}).items()}
    return {**shown, "data": data} if data else shown


def main() -> None:
    """Write the outputs into the notebook, without the pages of runs, which are large."""
    notebook = executed(NOTEBOOK)
    for cell in notebook.cells:
        for shown in cell.get("outputs", []):
            if "text/html" in shown.get("data", {}):
                shown.data["text/html"] = _PAGE.sub("", shown.data["text/html"])
    notebook.metadata = read(NOTEBOOK).metadata  # not which release of Python ran it
    nbformat.write(notebook, NOTEBOOK)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
