"""``toolreel view`` and ``toolreel export``: files from recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.commands import assert_mistake, toolreel
from tests.replay.sessions import cassette
from tests.servers.chat_server import replying, serving
from toolreel._cli import export_command, view_command
from toolreel.testing import saying


def asked(*arguments: str | Path) -> Result:
    return CliRunner().invoke(view_command, [*map(str, arguments), "--no-open"])


def test_a_page_is_written_here_under_the_name_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert asked(cassette("chat")).stdout.startswith("local--qwen2.5-coder-1.5b.html  ")
    assert asked(cassette("chat"), cassette("streamed"), "--out", "both.html").exit_code == 0
    assert "Two runs, side by side" in Path("both.html").read_text("utf-8")


OWN = """
from toolreel_core.transforms import register_transform
from toolreel_core._settings import register_estimator

register_estimator("lab_words", lambda text: len(text.split()))


@register_transform("message", "lab_shouting", about="Our gateway is hard of hearing.")
def shouting(message):
    return {**message, "content": str(message["content"]).upper()}
"""


def test_a_module_that_registers_names_can_be_imported_by_every_command(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(OWN)
    with serving(replying(saying("Hello."))) as server:
        counted = ("--set", "estimator=lab_words")
        shouting = ("--set", 'message_transforms=["lab_shouting"]')
        plan = ("--model", "m", *shouting, *counted, "--record", "hello")
        said = toolreel("run", "hi", "--base-url", server.url, *plan, "--import", "lab", cwd=tmp_path)
    assert said.code == 0, said
    assert json.loads(server.seen[0].body)["messages"][0]["content"] == "HI"
    fork = "fork hello --at 0 --set max_turns=3 --recorded --record other"
    reading = [line.split() for line in ("view hello --no-open", "explain hello", "replay hello", fork)]
    for command in reading:
        missing = toolreel(*command, cwd=tmp_path)
        assert_mistake(missing, "'lab_", "--import MODULE")
    for command in [*reading, ["export", "hello", "--format", "markdown"]]:
        said = toolreel(*command, "--import", "lab.py", cwd=tmp_path)
        assert said.code == 0, said
    again = toolreel("explain", "hello", cwd=tmp_path, env={"TOOLREEL_IMPORT": "json lab"})
    assert again.code == 0, again
    for name, words in (
        ("labs", "cannot import labs: No module named"),
        ("labs.py", "no file labs.py"),
    ):
        assert_mistake(toolreel("explain", "hello", "--import", name, cwd=tmp_path), "--import", words)


@pytest.mark.parametrize(
    ("form", "suffix"),
    [("openai", "messages.json"), ("markdown", "md"), ("inspect", "inspect.json")],
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
