"""The agent of the comparison, from a real server: every capability that the page names, in few lines."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from tests.servers.chat_server import replying, serving
from tests.servers.chat_server import streaming as pieces
from toolreel.testing import calling, saying, streaming

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "agent.py"


def test_the_example_runs() -> None:
    answers = [
        replying({"error": {"message": "busy"}}, 503),
        replying(calling(("stock", {"part": "shim"}), ("price", {"part": "shim"}))),
        replying(calling(("order", {"part": "shim", "count": 3}))),
        pieces(streaming('{"part": "shim', '", "missing": 3', "}")),
        replying(saying('{"part": "pin", "missing": 0}')),
    ]
    with serving(*answers) as server:
        environ = {**os.environ, "TOOLREEL_BASE_URL": server.url}
        done = subprocess.run(
            [sys.executable, EXAMPLE], env=environ, capture_output=True, text=True, check=False
        )
        sent = [seen.body.decode() for seen in server.seen]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["{'part': 'shim'}", "{'part': 'shim', 'missing': 3}"]
    assert done.stdout.splitlines()[2].startswith("Report(part='shim', missing=3) 0 RunUsage(")
    assert "3 shim ordered" in sent[3]
    assert "And pins?" in sent[4]


def test_the_example_has_at_most_thirty_lines_and_six_names() -> None:
    text = EXAMPLE.read_text("utf-8")
    assert sum(1 for line in text.splitlines() if line.strip()) <= 30
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert sum(len(node.names) for node in imports) <= 6
