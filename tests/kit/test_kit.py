"""The kit's conversations: up to date, played through the process, and replayed from their journals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.kit.schema import message_schema, schema_text
from tests.kit.scripts import SCRIPTS
from tests.kit.write import FOLDER, Play
from toolreel import replay
from toolreel.journals import read_journal
from toolreel_core.__main__ import SCHEMA
from toolreel_core._protocol import encode

FILES = sorted(FOLDER.glob("*.txt"))


def lines(file: Path, mark: str) -> list[str]:
    return [line[2:] for line in file.read_text("utf-8").splitlines() if line[0] == mark]


def test_the_conversations_are_those_of_the_scripts() -> None:
    written = {file.stem: file.read_text("utf-8") for file in FILES}
    played = {name: Play(name, script).text for name, script in SCRIPTS.items()}
    assert written == played, "run `python -m tests.kit.write`"


def test_the_schema_is_that_of_the_code() -> None:
    assert SCHEMA.read_text("utf-8") == schema_text(), "run `python -m tests.kit.write`"


def test_one_process_answers_all_conversations_at_once() -> None:
    # The first line of each, then the second of each, and so on: no run may see another.
    said = [list(zip(lines(file, ">"), lines(file, "<"), strict=True)) for file in FILES]
    turns = [each[at] for at in range(max(map(len, said))) for each in said if at < len(each)]
    core = subprocess.run(
        [sys.executable, "-m", "toolreel_core"],
        input="".join(f"{line}\n" for line, _ in turns).encode(),
        capture_output=True,
        check=True,
    )
    assert core.stdout.decode().split("\n")[:-1] == [answer for _, answer in turns]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_journals_of_a_conversation_are_replayed(file: Path, tmp_path: Path) -> None:
    journals: dict[str, str] = {}
    outcomes: dict[str, Any] = {}
    for answer in map(json.loads, lines(file, "<")):
        run = answer.get("run", file.stem)
        journals[run] = journals.get(run, "") + "".join(f"{line}\n" for line in answer.get("journal", ()))
        outcomes[run] = answer.get("outcome") or outcomes.get(run)
    assert len(lines(file, "=")) == len([text for text in journals.values() if text])
    for digest in lines(file, "="):
        run, _, sha256 = digest.rpartition(" ")
        path = tmp_path / "host.journal.jsonl"
        path.write_text(journals[run], "utf-8")
        assert read_journal(path).digest == sha256
        if outcomes[run]:
            assert encode(replay(path).run.outcome) == outcomes[run]
        path.unlink()


def test_lines_and_answers_fit_the_schema() -> None:
    schema = message_schema()
    Draft202012Validator.check_schema(schema)
    fits = {kind: Draft202012Validator({**schema, "$ref": f"#/$defs/{kind}"}) for kind in ("line", "answer")}
    for file in FILES:
        for line, answer in zip(lines(file, ">"), map(json.loads, lines(file, "<")), strict=True):
            fits["answer"].validate(answer)
            if "error" not in answer:
                fits["line"].validate(json.loads(line))
