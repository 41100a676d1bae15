"""Recorded runs in the formats of other tools, and read back from them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.environment import Environment, NotInstalled
from tests.replay.sessions import CASSETTES
from toolreel._driver import run
from toolreel._journal import load_recorded_run
from toolreel._replay import export_text, markdown_transcript, retrace
from toolreel.testing import ScriptedEndpoint, saying
from toolreel_core._conversation import messages_from
from toolreel_core._plan import Plan

READER = """
import json, sys
from inspect_ai.log import read_eval_log
for path in sys.argv[1:]:
    (sample,) = read_eval_log(path).samples
    print(json.dumps([[message.role for message in sample.messages], sample.output.completion,
        sum(len(message.tool_calls or ()) for message in sample.messages if message.role == "assistant"),
        sample.error.message if sample.error else None]))
"""
FENCED = re.compile(r"^(`{3,})text\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.parent.name)
def test_the_whole_conversation_is_in_openais_form_and_in_a_log_of_inspect(path: Path) -> None:
    trace = retrace(load_recorded_run(path))
    messages = json.loads(export_text(trace, "openai", "x"))
    assert messages_from(messages) == trace.run.messages
    log: dict[str, Any] = json.loads(export_text(trace, "inspect", "session"))
    (sample,) = log["samples"]
    assert [each["role"] for each in sample["messages"]] == [each["role"] for each in messages]
    assert sample["output"]["completion"] == trace.run.text
    assert ("error" in sample) is not trace.run.completed
    calls = [call["id"] for each in sample["messages"] for call in each.get("tool_calls", ())]
    assert calls == [each["tool_call_id"] for each in sample["messages"] if each["role"] == "tool"]


@given(st.lists(st.sampled_from(["`", "```", "````text", "\n", "a", "# b", "~~~", "<b>", "  "])).map("".join))
def test_no_text_ends_its_fence(said: str) -> None:
    ended = run(Plan.of(model="m", messages=f"say {said}."), ScriptedEndpoint([saying(f"x{said}x")]))
    assert [found[2] for found in FENCED.finditer(markdown_transcript(ended))] == [
        f"say {said}.",
        f"x{said}x",
    ]


@pytest.mark.slow
def test_inspect_reads_it(tmp_path: Path) -> None:
    environment = Environment(Path(__file__).parents[3] / "peers" / "inspect" / "requirements.txt")
    try:
        environment.install()
    except NotInstalled as error:
        pytest.skip(str(error))
    traces = [retrace(load_recorded_run(path)) for path in CASSETTES]
    paths = [tmp_path / f"{number}.json" for number in range(len(traces))]
    for trace, path in zip(traces, paths, strict=True):
        path.write_text(export_text(trace, "inspect", "session"), "utf-8")
    command = [str(environment.interpreter), "-c", READER, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for trace, line in zip(traces, done.stdout.splitlines(), strict=True):
        roles, completion, calls, problem = json.loads(line)
        wires: list[dict[str, Any]] = [*trace.run.messages_as_dicts()]
        assert roles == [each["role"] for each in wires]
        assert completion == trace.run.text
        assert calls == sum(len(each.get("tool_calls", ())) for each in wires)
        assert (problem is None) is trace.run.completed
