"""The whole way, with the scripted weak model: prove the scenarios, run, summarize, compare."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from weak_model import Model

HERE = Path(__file__).parent


def toolreel(*arguments: str | Path, status: int = 0) -> str:
    """What a command of toolreel prints; it has to end with this status."""
    command = [sys.executable, "-m", "toolreel", "eval", *map(str, arguments)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def test_the_checks_tell_right_from_wrong() -> None:
    toolreel("scenario", "check", *sorted(HERE.glob("scenarios/*.toml")))


def test_reading_calls_from_text_helps(model: str, tmp_path: Path) -> None:
    toolreel("run", "settings.toml", "--base-url", model, "--out", tmp_path)
    shown = toolreel("summarize", tmp_path)
    assert "on these 3 scenarios alone,\nreads_text is shown to be better" in shown
    rates = {
        row["strategy"]: row["tool_ok_rate"]
        for row in json.loads((tmp_path / "summary.json").read_text())["models"]
    }
    assert rates["reads_text"] == 1 > rates["plain"]

    both = ("compare", tmp_path, "--gate", "margin[these-scenarios]=0.1", "--by", "strategy")
    toolreel(*both, "plain", "reads_text")
    # What a pull request would get that turns the setting off.
    toolreel(*both, "reads_text", "plain", status=1)
