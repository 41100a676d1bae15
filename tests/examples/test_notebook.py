from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.notebook import NOTEBOOK, executed, outputs, read


def test_the_notebook_runs_and_shows_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    ran = executed(NOTEBOOK)
    assert "<summary>turn by turn</summary><iframe" in str(ran.cells)
    shown = outputs(ran)
    assert shown == outputs(read(NOTEBOOK))
    tables = [
        output["data"]["text/html"]
        for cell in shown
        for output in cell
        if "text/html" in output.get("data", {})
    ]
    assert len(tables) == 3
    assert all(table.startswith("<div><table>") for table in tables)
