"""The core runs in a browser's Python as it does here, with no package that was compiled."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYODIDE = "pyodide@314.0.7"
PACKAGES = ("toolreel_core", "returns", "pyrsistent", "_pyrsistent_version", "typing_extensions")


@pytest.mark.slow
def test_a_run_in_pyodide_ends_in_the_same_state(tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node.js is not installed; on Debian: apt-get install npm")
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        module = Path(spec.origin)
        if module.name == "__init__.py":
            shutil.copytree(module.parent, packages / name)
        else:
            shutil.copy(module, packages)
    subprocess.run([npm, "install", "--silent", "--prefix", str(tmp_path), PYODIDE], check=True)
    runner = shutil.copy(HERE / "run_in_pyodide.mjs", tmp_path)
    conversation = str(HERE / "core_conversation.py")
    there = subprocess.run(
        [node, runner, str(packages), conversation], check=True, stdout=subprocess.PIPE, text=True
    )
    here = subprocess.run([sys.executable, conversation], check=True, stdout=subprocess.PIPE, text=True)
    assert here.stdout.startswith("Completed(content='Paid.') ['{\"amount\":7}'] ")
    assert there.stdout == here.stdout
