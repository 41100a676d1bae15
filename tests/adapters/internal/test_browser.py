"""A page is opened where there is a display, and nothing is tried elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = "from toolreel._internal import open_in_browser; print(open_in_browser('http://127.0.0.1:1/?token=t'))"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems open without these variables")


def program(folder: Path, name: str) -> Path:
    """A program that writes down what it was started with."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder / "asked"}\n')
    path.chmod(0o755)
    return path


def shown(folder: Path, **variables: str) -> str:
    """What ``show`` says in a process whose desktop and browsers are programs in a folder."""
    for name in ("xdg-open", "x-www-browser", "www-browser", "lynx", "w3m"):
        program(folder, name)
    kept = {name: value for name, value in os.environ.items() if "DISPLAY" not in name and name != "BROWSER"}
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**kept, "PATH": f"{folder}:{os.environ['PATH']}", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_without_a_display_nothing_is_started(tmp_path: Path) -> None:
    assert shown(tmp_path) == "False"
    assert not (tmp_path / "asked").exists()


def test_the_browser_that_is_named_gets_the_address(tmp_path: Path) -> None:
    named = program(tmp_path, "my-browser")
    assert shown(tmp_path, BROWSER=f"{named} %s") == "True"
    assert (tmp_path / "asked").read_text() == "http://127.0.0.1:1/?token=t\n"
