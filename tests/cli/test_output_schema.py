"""``toolreel run --output-schema`` against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import LOOKING_UP, WORKSPACE, Said, assert_mistake, run_at, toolreel
from tests.servers.chat_server import ChatServer, replying, serving
from toolreel.testing import calling, saying

SCHEMA = {"type": "object", "properties": {"status": {"enum": ["draft", "out"]}}, "required": ["status"]}
DRAFT = '{"status":"draft"}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


def running(server: ChatServer, folder: Path, *options: str) -> Said:
    asked = run_at(server, "Which status?")
    return toolreel(*asked, "--output-schema", "schema.json", *options, cwd=folder)


def test_the_answer_is_the_call_of_the_final_tool_where_tools_are_offered(folder: Path) -> None:
    answer = replying(calling(("final_answer", {"status": "draft"})))
    with serving(replying(LOOKING_UP), replying(saying("A draft.")), answer) as server:
        said = running(server, folder, *WORKSPACE, "--record", "kept")
    assert said.code == 0
    lines = said.stdout.splitlines()
    assert f"value       {DRAFT}" in lines
    assert any("the answer does not fit the output; the model is asked again" in line for line in lines)
    first, *_, last = [json.loads(seen.body) for seen in server.seen]
    assert first["tools"][-1]["function"]["parameters"] == SCHEMA
    assert last["messages"][-1]["content"].endswith("Call final_answer with your answer.")
    again = toolreel("replay", "kept", cwd=folder)
    assert (again.code, f"value       {DRAFT}" in again.stdout.splitlines()) == (0, True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1]", "expected a JSON object"),
        ("{", "is not a JSON Schema: Expecting"),
        ('{"type": "objekt"}', "not a JSON Schema at $.type"),
        ("\xff", "can't decode byte 0xff"),
    ],
)
def test_a_file_that_is_no_schema_is_a_mistake(folder: Path, text: str, why: str) -> None:
    (folder / "schema.json").write_bytes(text.encode("latin-1"))
    said = toolreel(
        *("run", "hi", "--model", "m", "--base-url", "http://127.0.0.1:9", "--output-schema", "schema.json"),
        cwd=folder,
    )
    assert_mistake(said, why)
