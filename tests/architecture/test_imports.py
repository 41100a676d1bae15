from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = {"click", "httpx", "rich", "scipy", "statsmodels", "tokenizers", "trio", "vcr", "yaml"}
RUNTIME = {"anyio", "socket", "ssl"}


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("toolreel", EXTRAS | RUNTIME),
        ("toolreel_adapters", EXTRAS),
        ("toolreel_adapters.__main__", EXTRAS),
        ("toolreel_adapters.pytest_plugin", EXTRAS | {"toolreel"}),  # every pytest loads it
    ],
)
def test_importing_loads_no_extra(module: str, unwanted: set[str], tmp_path: Path) -> None:
    assert unwanted & loaded_by(f"import {module}", tmp_path) == set()


def test_the_names_of_the_adapters_need_no_extra(tmp_path: Path) -> None:
    assert EXTRAS & loaded_by("from toolreel_adapters import *", tmp_path) == set()


def loaded_by(statement: str, tmp_path: Path) -> set[str]:
    code = f"import json, sys\n{statement}\nprint(json.dumps(list(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    return set(json.loads(output))
