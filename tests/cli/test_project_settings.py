"""``[tool.toolreel]`` in ``pyproject.toml``: what commands take from it, and what goes first."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import assert_mistake, toolreel
from tests.samples import worked
from tests.servers.chat_server import ChatServer, Seen, replying, serving
from toolreel._internal import SHARED_KEYS
from toolreel.testing import saying

ROOT = Path(__file__).resolve().parents[2]
TABLE = """\
[tool.toolreel]
base_url = "{url}"
api_key_env = "MY_KEY"
header = {{ X-Tenant = "MY_TENANT" }}
model = "of-the-project"
tools = "tools.py:TOOLS"
preset = ["mine.toml"]
catalogue = "own.toml"
recordings = "tapes"
database = "sqlite:///runs.db"
"""
ABOUT = 'about = "of the test"\nevidence = ["a server"]\nverified_on = "2026-11-28"'
PRESET = f"[preset.mine]\n{ABOUT}\nrequest = {{ temperature = 0.25 }}\n"
CATALOGUE = f"[preset.of_catalogue]\n{ABOUT}\nrequest = {{ top_p = 0.5 }}\n"
TOOLS = 'def stock(part: str) -> str:\n    """How many."""\n    return part\n\n\nTOOLS = [stock]\n'
KEYS = {"MY_KEY": "abcdefgh-1234", "MY_TENANT": "north-seven"}


def project(folder: Path, url: str, *further: str) -> Path:
    """A project, and a folder within it, where commands run."""
    (folder / "pyproject.toml").write_text(TABLE.format(url=url) + "\n".join(further))
    for name, text in (("mine.toml", PRESET), ("own.toml", CATALOGUE), ("tools.py", TOOLS)):
        (folder / name).write_text(text)
    inner = folder / "inner"
    inner.mkdir()
    return inner


def body(seen: Seen) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(seen.body)
    return tree


def run(server: ChatServer, folder: Path, *arguments: str, **variables: str) -> Seen:
    """The request of a run."""
    said = toolreel("run", "Hi.", *arguments, cwd=folder, env={**KEYS, **variables})
    assert said.code == 0, said
    return server.seen[-1]


def test_a_run_takes_all_from_the_project_around_it(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server:
        seen = run(server, project(tmp_path, server.url))
    assert seen.headers["authorization"] == f"Bearer {KEYS['MY_KEY']}"
    assert seen.headers["x-tenant"] == KEYS["MY_TENANT"]
    sent = body(seen)
    assert (sent["model"], sent["temperature"]) == ("of-the-project", 0.25)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["stock"]


def test_the_command_line_goes_first_then_the_environment(tmp_path: Path) -> None:
    (tmp_path / "theirs.toml").write_text(CATALOGUE.replace("of_catalogue", "theirs"))
    with serving(*[replying(saying("Hello."))] * 2) as server:
        inner = project(tmp_path, server.url)
        seen = run(server, inner, "--model", "another", "--preset", "of_catalogue")
        sent = body(seen)
        assert (sent["model"], sent["top_p"], "temperature" in sent) == ("another", 0.5, False)
        variable = {"TOOLREEL_CATALOGUE": str(tmp_path / "theirs.toml")}
        assert body(run(server, inner, "--preset", "theirs", **variable))["top_p"] == 0.5
        gone = toolreel("run", "Hi.", "--preset", "of_catalogue", cwd=inner, env={**KEYS, **variable})
    assert "no preset 'of_catalogue'" in gone.stderr


def test_another_server_gets_neither_the_key_nor_the_headers(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as other:
        seen = run(other, project(tmp_path, "http://127.0.0.1:9"), "--base-url", other.url)
    assert not {"authorization", "x-tenant"} & seen.headers.keys()


def test_a_fork_that_is_answered_by_a_recording_asks_no_server(tmp_path: Path) -> None:
    inner = project(tmp_path, "http://127.0.0.1:9")
    tape = str(ROOT / "cassettes" / "workspace" / "local--qwen2.5-coder-1.5b")
    said = toolreel("fork", tape, "--at", "0", "--recorded", cwd=inner, env=KEYS)
    assert said.code == 0, said


def test_files_are_where_the_project_is(tmp_path: Path) -> None:
    inner = project(tmp_path, "http://127.0.0.1:9")
    submitted = toolreel("durable", "submit", "Hi.", "--run-id", "one", cwd=inner, env=KEYS)
    assert submitted.code == 0, submitted
    assert (tmp_path / "runs.db").exists()
    checked = toolreel("cassettes", "check", cwd=inner)
    assert_mistake(checked, f"{tmp_path / 'tapes'}: there is no such file or folder")


@pytest.mark.parametrize(
    ("table", "wrong"),
    worked("project settings that cannot be used are named with their place", "commands"),
)
def test_what_cannot_be_used_is_named_with_its_place(table: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.toolreel]\n{table}\n")
    for command in (("run", "Hi."), ("doctor",), ("presets",)):
        assert_mistake(toolreel(*command, cwd=tmp_path), f"{tmp_path / 'pyproject.toml'}: {wrong}")
    assert toolreel("run", "--help", cwd=tmp_path).code == 0


def test_the_page_has_each_key() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == [*SHARED_KEYS]
    for name, row in rows:
        assert SHARED_KEYS[name].variable in row
