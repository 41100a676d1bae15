"""The notebook runs from its first cell to its last, and shows what is stored in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from toolreel import replay

NOTEBOOK = Path(__file__).with_name("agent.ipynb")
RECORDING = NOTEBOOK.parent / "recordings/capital"
# How long a run took differs each time. Its page is large, so it need not be stored.
VARIES = re.compile(r"(?<=time</th>)<td[^>]*>[^<]+|<details>.*?</details>", re.DOTALL)


def shown(notebook: Any) -> list[str]:  # noqa: ANN401 - nbformat has no types
    """What each cell shows, without what varies."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [[sorted(each.get("data", each).items()) for each in cell.outputs] for cell in cells]
    return [VARIES.sub("", repr(each)) for each in outputs]


def test_it_shows_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))  # no settings of yours
    stored = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    # Texts that the kernel flushes in pieces are one output.
    ran = NotebookClient(notebook, timeout=300, coalesce_streams=True, record_timing=False).execute()
    assert "<summary>turn by turn</summary>" in repr(ran)
    assert shown(ran) == shown(stored)
    assert replay(RECORDING).run.text in shown(ran)[-1]
