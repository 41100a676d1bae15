"""``toolreel cassettes journal``: from a cassette to journals, and back to a replay."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.commands import WORKSPACE, assert_mistake, said_by_each
from toolreel._journal import journal_path, read_journal, seal_text

CASSETTES = Path(__file__).resolve().parents[3] / "cassettes"


def cassette(scenario: str) -> Path:
    return CASSETTES / scenario / "local--qwen2.5-coder-1.5b.yaml"


def test_the_cassette_of_another_client_becomes_a_journal_for_each_of_its_runs(tmp_path: Path) -> None:
    make = ("cassettes", "journal", str(cassette("openai-sdk")))
    commands = [
        (*make, "--out", "kept/answers"),
        (*make, "--out", "kept/answers"),
        (*make, "--json"),
        ("replay", "kept/answers.journal.jsonl", "--json"),
        ("replay", "kept/answers+2.journal.jsonl", "--json"),
    ]
    made, again, data, first, second = said_by_each(commands, tmp_path)
    assert made.code == 0, made
    assert "interaction 2" in made.stdout
    assert "saved       kept/answers+2.journal.jsonl" in made.stdout
    assert_mistake(again, "kept/answers.journal.jsonl exists already", "--overwrite")
    assert [run["interactions"] for run in data.data["runs"]] == [[1, 1], [2, 2]]
    assert (first.data["detail"]["content"], second.data["detail"]["content"]) == ("Oslo", "Stockholm")


def test_a_cassette_of_our_own_gives_the_journal_that_the_live_run_wrote(tmp_path: Path) -> None:
    session = cassette("workspace")
    recorded = read_journal(journal_path(session))
    copy = str(shutil.copy(session, tmp_path / "alone.yaml"))
    commands = [
        ("cassettes", "journal", str(session)),
        ("cassettes", "journal", str(session), *WORKSPACE, "--json"),
        ("cassettes", "journal", str(session), "--out", "again"),
        ("cassettes", "journal", copy, "--preset", "qwen2_5_coder", "--json"),
        ("cassettes", "journal", "nothing.yaml"),
    ]
    shown, real, saved, inferred, nothing = said_by_each(commands, tmp_path)
    assert f"journal     {recorded.digest[:16]}, as the live run wrote it" in shown.stdout
    assert (real.code, real.data["identical"]) == (0, True)
    assert saved.code == 0
    assert (tmp_path / "again.journal.jsonl").read_bytes() == seal_text(recorded.text)
    assert inferred.code == 0, inferred
    assert inferred.data["runs"][0]["tally"]["tool_calls"] == 2
    assert_mistake(nothing, "nothing.yaml: there is no such cassette")


def test_a_journal_that_does_not_fit_its_cassette_is_drift(tmp_path: Path) -> None:
    session = cassette("chat")
    shutil.copy(session, tmp_path / "kept.yaml")
    text = journal_path(session).read_text()
    (tmp_path / "kept.journal.jsonl").write_text(text.replace('"created\\":1', '"created\\":2'))
    (said,) = said_by_each([("cassettes", "journal", "kept.yaml")], tmp_path)
    assert_mistake(said, "kept.journal.jsonl: is not the journal that comes out of kept.yaml", code=3)
