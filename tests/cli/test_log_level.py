"""``--log-level`` and its variables: logs on stderr, as text or JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


def demo(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolreel", *options, "demo"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_logs_of_a_replay_are_lines_on_stderr() -> None:
    done = demo("--log-level", "warning,loop=info")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert lines
    assert all(" INFO    toolreel.loop: " in line for line in lines), "of the others, only warnings"
    assert any("run_settled run=" in line and "outcome=completed" in line for line in lines)


def test_the_variables_do_the_same_for_machines() -> None:
    done = demo(TOOLREEL_LOG="debug", TOOLREEL_LOG_FORMAT="json")
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"toolreel.loop", "toolreel.http", "toolreel.tools"} <= {each["logger"] for each in told}
    for each in told:
        assert each.keys() >= {"at", "level", "logger", "event"}
    (settled, *_) = [each for each in told if each["event"] == "run_settled"]
    assert (settled["outcome"], settled["replayed"]) == ("completed", True)


@pytest.mark.parametrize("asked", ["loud", "htp=debug", "info,,debug", "http="])
def test_what_is_no_level_is_refused_with_what_is_one(asked: str) -> None:
    done = demo("--log-level", asked)
    assert done.returncode == 2
    assert (
        "expected debug, info, warning, error, or LOGGER=LEVEL with one of loop, http, tools" in done.stderr
    )
