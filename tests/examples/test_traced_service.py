"""The trace of examples/scripts/traced_service.py, as a real collector receives it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT
from tests.servers.collector import collecting, program

PROGRAM = ROOT / "examples" / "scripts" / "traced_service.py"
TREE = """\
There are 4 pins.
caller
  GET
    GET /ask
      invoke_agent clerk
        chat your-model
        execute_tool stock
          GET
            GET /stock/{part}
        chat your-model
"""


def test_a_collector_gets_one_trace_from_the_caller_to_what_the_tool_asks(tmp_path: Path) -> None:
    agent = program()
    if agent is None:
        pytest.skip("the wheel of rotel is not installed; it is only there for Linux")
    with collecting(agent, tmp_path) as collector:
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "NO_PROXY": "*"}
        done = subprocess.run(
            [sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False, env=environment
        )
    assert (done.stdout, done.returncode) == (TREE, 0), done.stderr
    spans = {span.fields["ID"]: span for span in collector.spans()}
    assert len({span.fields["Trace ID"] for span in spans.values()}) == 1
    (asked,) = [span for span in spans.values() if span.name == "GET /stock/{part}"]
    way = [asked]
    while parent := spans.get(way[-1].fields["Parent ID"]):
        way.append(parent)
    assert [span.name for span in way] == [
        "GET /stock/{part}",
        "GET",
        "execute_tool stock",
        "invoke_agent clerk",
        "GET /ask",
        "GET",
        "caller",
    ]
    tool = way[2].attributes
    assert (tool["gen_ai.operation.name"], tool["gen_ai.tool.name"]) == ("execute_tool", "stock")
    run = way[3].attributes
    assert (run["gen_ai.agent.name"], run["toolreel.outcome"], run["toolreel.turns"]) == (
        "clerk",
        "completed",
        "2",
    )
    for metric in (
        "gen_ai.client.operation.duration",
        "gen_ai.invoke_agent.duration",
        "gen_ai.execute_tool.duration",
    ):
        assert metric in collector.text
    assert "There are 4 pins" not in collector.text, "content is off by default"
