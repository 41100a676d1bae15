"""``toolreel view`` and ``toolreel export``: files from recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.replay.sessions import cassette
from toolreel._cli import export_command, view_command


def asked(*arguments: str | Path) -> Result:
    return CliRunner().invoke(view_command, [*map(str, arguments), "--no-open"])


def test_a_page_is_written_here_under_the_name_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert asked(cassette("chat")).stdout.startswith("local--qwen2.5-coder-1.5b.html  ")
    done = asked(cassette("chat"), cassette("streamed"), "--out", "both.html", "--json")
    assert json.loads(done.stdout)["file"] == "both.html"
    assert "Two runs, side by side" in Path("both.html").read_text("utf-8")


def test_a_recording_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    done = asked(tmp_path / "nothing")
    assert done.exit_code == 2
    assert "there is no such recording" in done.stderr


@pytest.mark.parametrize(
    ("form", "suffix"),
    [("openai", "messages.json"), ("markdown", "md"), ("inspect", "inspect.json"), ("vcrpy", "vcr.yaml")],
)
def test_an_export_replaces_no_file(
    form: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [str(cassette("tool-error")), "--format", form]
    assert CliRunner().invoke(export_command, command).exit_code == 0
    written = tmp_path / f"local--qwen2.5-coder-1.5b.{suffix}"
    before = written.read_bytes()
    again = CliRunner().invoke(export_command, command)
    assert again.exit_code == 2
    assert "overwrite" in again.stderr
    assert CliRunner().invoke(export_command, [*command, "--overwrite"]).exit_code == 0
    assert written.read_bytes() == before


def test_vcrpy_takes_a_cassette(tmp_path: Path) -> None:
    journal = tmp_path / "x.journal.jsonl"
    journal.write_bytes(cassette("chat").with_suffix("").with_suffix(".5b.journal.jsonl").read_bytes())
    done = CliRunner().invoke(export_command, [str(journal), "--format", "vcrpy"])
    assert done.exit_code == 2
    assert "there is none next to this journal" in done.stderr
