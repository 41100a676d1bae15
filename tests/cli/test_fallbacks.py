"""``toolreel run --fallback`` against real servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import Said, assert_mistake, toolreel
from tests.servers.chat_server import ChatServer, replying, serving
from toolreel.testing import saying

DENIED = replying({"error": {"message": "no such account"}}, status=403)
HELLO = replying(saying("Hello."))


def running(server: ChatServer, folder: Path, *options: str, **variables: str) -> Said:
    asked = ("run", "hi", "--model", "a", "--base-url", server.url)
    return toolreel(*asked, *options, cwd=folder, env=variables)


def test_a_run_goes_on_at_another_server_and_replays_from_its_recording(tmp_path: Path) -> None:
    with serving(DENIED) as first, serving(HELLO) as second:
        there = f"model=b,name=spare,base-url={second.url},api-key-env=SPARE_KEY,on=denied+timeout"
        said = running(
            first,
            tmp_path,
            *("--fallback", there, "--record", "kept", "--api-key-env", "FIRST_KEY"),
            FIRST_KEY="sk-first-0123456789",
            SPARE_KEY="sk-spare-0123456789",
        )
    assert said.code == 0, said
    assert any("failed (denied), so it goes on at spare" in line for line in said.stdout.splitlines())
    assert [seen.headers["authorization"] for seen in (*first.seen, *second.seen)] == [
        "Bearer sk-first-0123456789",
        "Bearer sk-spare-0123456789",
    ]
    assert json.loads(second.seen[0].body)["model"] == "b"
    again = toolreel("replay", "kept", cwd=tmp_path)
    assert again.code == 0


def test_another_server_gets_no_key_of_the_first(tmp_path: Path) -> None:
    with serving(DENIED) as first, serving(HELLO) as second:
        there = f"model=b,base-url={second.url}"
        keyed = ("--fallback", there, "--api-key-env", "FIRST_KEY")
        assert running(first, tmp_path, *keyed, FIRST_KEY="sk-first-0123456789").code == 0
    assert "authorization" not in second.seen[0].headers


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("b", "'b': expected key=value, for example model=NAME"),
        ("model=b,url=http://127.0.0.1:1", "there is no key 'url'"),
        ("name=spare", "name the model; write model=NAME,..."),
        ("model=b,on=down", "there is no reason 'down'"),
        ("model=b,foreign-reasoning=send", "foreign_reasoning: expected pin or drop, got 'send'"),
    ],
)
def test_a_mistake_in_a_fallback_is_told(text: str, wrong: str, tmp_path: Path) -> None:
    asked = ("run", "hi", "--model", "a", "--base-url", "http://127.0.0.1:1", "--fallback", text)
    said = toolreel(*asked, cwd=tmp_path)
    assert_mistake(said)
    assert wrong in " ".join(said.stderr.split())
