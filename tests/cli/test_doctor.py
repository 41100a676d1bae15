"""``toolreel doctor`` says what is wrong here; and bash completes commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import environment, toolreel
from tests.servers.chat_server import Answer, nobody_listens, replying, serving

CASSETTES = Path(__file__).resolve().parents[2] / "cassettes"
KEY = "sesame-open-8913"
LISTED = replying({"data": [{"id": "qwen2.5"}, {"id": "qwen3"}]})


def doctor(folder: Path, *arguments: str, **variables: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and what was found by area."""
    said = toolreel("doctor", *arguments, "--json", cwd=folder, env=variables)
    assert KEY not in said.stdout + said.stderr
    areas: dict[str, list[dict[str, Any]]] = {}
    for check in said.data["checks"]:
        areas.setdefault(check["area"], []).append(check)
    problems = [check for check in said.data["checks"] if check["state"] == "problem"]
    assert (said.code, said.data["ok"]) == (bool(problems), not problems)
    return said.code, areas


def test_an_empty_folder_has_no_problem(tmp_path: Path) -> None:
    code, areas = doctor(tmp_path)
    assert code == 0
    assert [*areas] == ["packages", "keys", "recordings"]
    assert areas["packages"][0]["text"].startswith(f"python {sys.version.split()[0]}")
    assert any(each["text"].startswith("toolreel[cli]: click 8") for each in areas["packages"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("answer", "state", "text", "remedy"),
    [
        (LISTED, "ok", "answers, and lists 2 models", ""),
        (replying({"error": "no"}, 401), "problem", "answers with status 401", "check the key"),
        (replying({}, 404), "note", "answers, but lists no models", "toolreel probe"),
        (Answer(b"", 503), "problem", "answers with status 503", "ask those who run it"),
    ],
)
def test_the_server_is_asked_for_its_models(
    answer: Answer, state: str, text: str, remedy: str, tmp_path: Path
) -> None:
    with serving(answer) as server:
        _, areas = doctor(tmp_path, "--base-url", server.url, "--api-key-env", "MY_KEY", MY_KEY=KEY)
        assert [(each.method, each.path) for each in server.seen] == [("GET", "/v1/models")]
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    (found,) = areas["server"]
    assert (found["state"], text in found["text"], remedy in found["remedy"]) == (state, True, True)
    assert "MY_KEY" in areas["keys"][0]["text"]


def test_no_server_and_no_key_are_problems(tmp_path: Path) -> None:
    with nobody_listens() as url:
        _, areas = doctor(tmp_path, "--base-url", url)
    assert "does not answer: ConnectError" in areas["server"][0]["text"]
    _, areas = doctor(tmp_path, "--base-url", url, "--api-key-env", "NOT_SET")
    assert "variable NOT_SET is not set" in areas["server"][0]["text"]


def test_the_database_is_looked_at_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "other.db").write_bytes(b"no database" * 100)
    code, areas = doctor(tmp_path, "--database", "sqlite:///runs.db")
    assert (code, areas["database"][0]["state"]) == (0, "note")
    code, areas = doctor(tmp_path, "--database", "sqlite:///other.db")
    assert (code, "is not a database" in areas["database"][0]["text"]) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["other.db"]
    assert toolreel("durable", "list", "--database", "sqlite:///runs.db", cwd=tmp_path).code == 0
    _, areas = doctor(tmp_path, TOOLREEL_DATABASE_URL="sqlite:///runs.db")
    assert areas["database"][0]["text"] == "sqlite:///runs.db has the tables of durable runs"


def test_recordings_with_problems_are_named(tmp_path: Path) -> None:
    shutil.copytree(CASSETTES / "workspace", tmp_path / "tapes")
    (tmp_path / "tapes" / "cut.journal.jsonl").write_text('{"toolreel_journal"')
    (tmp_path / "tapes" / "leak.yaml").write_text(f"toolreel: 1\ninteractions: []\n# {KEY}\n")
    code, areas = doctor(tmp_path, "tapes", MY_KEY=KEY)
    found = {f"{each['state']}: {each['text']}" for each in areas["recordings"]}
    assert code == 1
    assert "problem: tapes/leak.yaml: leak: line 3: value of MY_KEY" in found
    assert any(text.startswith("problem: tapes/cut.journal.jsonl: unreadable") for text in found)
    code, areas = doctor(tmp_path, "nowhere")
    assert (code, areas["recordings"][0]["text"]) == (1, "nowhere: there is no such file or folder")


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    """Packages are found by their metadata, so metadata of another toolreel comes first on the path here."""
    metadata = tmp_path / "toolreel-9.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    lacking = 'Requires-Dist: no-such-h2<5,>=3; extra == "http2"'
    metadata.write_text(f"Metadata-Version: 2.1\nName: toolreel\nVersion: 9.0\n{lacking}\n")
    _, areas = doctor(tmp_path, PYTHONPATH=str(tmp_path))
    wrong = {each["text"]: (each["state"], each["remedy"]) for each in areas["packages"][2:]}
    assert wrong == {"toolreel[http2]: no-such-h2 not installed": ("note", "pip install 'toolreel[http2]'")}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """As bash does it when somebody presses Tab: with the function that the script registers."""
    script = toolreel(cwd=tmp_path, env={"_TOOLREEL_COMPLETE": "bash_source"})
    assert script.code == 0
    ask = """
    eval "$1"; name=$(complete -p toolreel | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    for line in "toolreel re" "toolreel cassettes ch" "toolreel doctor --base"; do
        COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        $name toolreel "${COMP_WORDS[COMP_CWORD]}"; echo "${COMPREPLY[*]}"
    done
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(shutil.which("bash")), "-c", ask, "bash", script.stdout],
        env=environment({"PATH": path}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["replay resume", "check", "--base-url"], done.stderr
