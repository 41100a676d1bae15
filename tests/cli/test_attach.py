"""``toolreel run --attach`` against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import assert_mistake, toolreel
from tests.servers.chat_server import replying, serving
from toolreel.testing import saying

CAT = b"\x89PNG\r\n\x1a\n" + bytes(300)


def test_a_picture_goes_out_with_the_prompt_and_is_shown_as_a_label(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(CAT)
    (tmp_path / "list.csv").write_text("a,b")
    files = ("--attach", "cat.png", "--attach", "list.csv")
    with serving(replying(saying("A cat."))) as server:
        asked = ("run", "What is it?", "--model", "m", "--base-url", server.url, "--record", "kept")
        said = toolreel(*asked, *files, cwd=tmp_path)
        (body,) = [json.loads(seen.body) for seen in server.seen]
    assert said.code == 0
    assert [part["type"] for part in body["messages"][0]["content"]] == ["text", "image_url", "file"]
    assert "[image/png, 308 bytes, sha256:" in said.stdout
    assert "[file list.csv, text/csv, 3 bytes, sha256:" in said.stdout
    again = toolreel("replay", "kept", cwd=tmp_path)
    assert (again.code, "iVBORw0" in again.stdout) == (0, False)
    checked = toolreel("cassettes", "check", "kept.yaml", cwd=tmp_path)
    assert checked.code == 0, checked


def test_what_cannot_be_attached_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(b"??")
    asked = ("run", "What is it?", "--model", "m", "--base-url", "http://127.0.0.1:9")
    said = toolreel(*asked, "--attach", "odd.bin", cwd=tmp_path)
    assert_mistake(said, "nothing says what odd.bin is; write its type")
