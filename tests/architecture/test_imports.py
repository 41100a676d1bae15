from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = {"click", "httpx", "rich", "trio", "vcr", "yaml"}
RUNTIME = {"anyio", "socket", "ssl"}


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("toolreel", EXTRAS | RUNTIME),
        ("toolreel_adapters", EXTRAS),
        ("toolreel_adapters.__main__", EXTRAS),
    ],
)
def test_importing_loads_no_extra(module: str, unwanted: set[str], tmp_path: Path) -> None:
    code = f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert unwanted & set(json.loads(output)) == set()
