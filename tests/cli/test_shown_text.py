"""What a command prints: never the key that a server says back, and nothing that cannot be seen."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.cli.commands import on_terminal, run_at, said_by_each, toolreel
from tests.servers.chat_server import chunk, replying, serving, streaming
from toolreel._secrets import encoded_spellings
from toolreel.testing import calling, saying

KEY = "plainkey/7"
SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "url": lambda key: key.replace("/", "%2F"),
    "JSON": lambda key: json.dumps(json.dumps({"key": key})),
}
each_spelling = pytest.mark.parametrize(
    "spelled", [spell(KEY) for spell in SPELLINGS.values()], ids=[*SPELLINGS]
)
TOOLS = '''
from toolreel import tool

@tool(needs_approval=True)
def pay(to: str) -> str:
    """Pay."""
    return f"paid {to}"

TOOLS = [pay]
'''
UNSEEN = "\u202e\u2066\u200b\u200d\ufeff\x9b\x85\x1b\u2028\U000e0041"


def assert_withheld(*texts: str) -> None:
    for text in texts:
        assert not [form for form in encoded_spellings(KEY) if form in text]


@pytest.mark.parametrize("options", [("--record", "kept"), ("--json",)])
@each_spelling
def test_a_key_that_a_server_says_back_is_not_printed(
    tmp_path: Path, options: tuple[str, ...], spelled: str
) -> None:
    (tmp_path / "shop.py").write_text(TOOLS)
    script = [
        replying(calling(("pay", {"to": f"{spelled} now"}))),
        replying(calling(("nothing", {spelled: spelled}))),
        replying(saying(f"It is {spelled} .")),
    ]
    refused = [replying({"error": {"message": f"Incorrect API key: {spelled} ."}}, 401)]
    for answers in (script, refused):
        with serving(*answers) as server:
            base = (*run_at(server, "Pay."), "--tools", "shop:TOOLS")
            said = toolreel(
                *(*base, "--approve", "always", "--api-key-env", "K", *options), cwd=tmp_path, env={"K": KEY}
            )
        assert_withheld(said.stdout, said.stderr)
        assert "[value of the header authorization]" in said.stdout + said.stderr
        if "--json" in options:
            assert said.data["outcome"]
        for path in tmp_path.glob("kept*"):
            assert_withheld(path.read_text())
            path.unlink()


def test_nor_is_a_key_in_the_url(tmp_path: Path) -> None:
    with serving(replying(saying(f"It is {KEY}.")), replying({"error": "no"}, 404)) as server:
        base = ("run", "hi", "--model", "m", "--base-url", f"{server.url}/v1?api-key={KEY}")
        answered, refused = (toolreel(*base, cwd=tmp_path) for _ in range(2))
    assert_withheld(answered.stdout, answered.stderr, refused.stdout, refused.stderr)
    assert "It is [value of the parameter api-key]." in answered.stdout
    assert "api-key=REDACTED" in refused.stderr


def test_nor_is_one_that_is_streamed_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", KEY)
    pieces = [part for character in f"It is {KEY}." for part in (chunk(character), 0.01)]
    with serving(streaming(*pieces, chunk(None, "stop"))) as server:
        base = (*run_at(server), "--set=stream=final", "--api-key-env", "K")
        code, shown = on_terminal(*base, cwd=tmp_path)
    assert code == 0
    assert_withheld(shown)
    assert shown.count("It is [value of the header authorization].") >= 2, (
        "it is shown as it comes, and as the answer"
    )


def unseen_in(text: str) -> set[str]:
    return {*text} & {*UNSEEN}


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_cannot_be_seen_is_spelt_out(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "shop.py").write_text(TOOLS)
    script = [
        replying(calling(("pay", {"to": f"a{UNSEEN}b"}), (f"no{UNSEEN}", {}))),
        replying(saying(f"c{UNSEEN}d")),
    ]
    for answers in (script, [replying({"error": {"message": f"e{UNSEEN}f"}}, 400)]):
        with serving(*answers) as server:
            base = (*run_at(server, f"g{UNSEEN}h"), "--tools", "shop:TOOLS")
            said = toolreel(*base, "--approve", "always", *options, cwd=tmp_path)
        assert not unseen_in(said.stdout + said.stderr)
        assert "\\u202e" in said.stdout + said.stderr
        if options and said.code == 0:
            assert said.data["detail"]["content"] == f"c{UNSEEN}d"


def test_the_person_who_approves_sees_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(TOOLS)
    with serving(replying(calling(("pay", {"to": "a\u202eb\u200bc"}))), replying(saying("ok"))) as server:
        base = (*run_at(server, "Pay."), "--tools", "shop:TOOLS")
        code, shown = on_terminal(*base, cwd=tmp_path, typed="n\n")
    assert code == 0
    assert not {"\u202e", "\u200b"} & {*shown}
    assert 'pay({"to":"a\\u202eb\\u200bc"})' in shown


def test_diffs_and_errors_spell_it_out_too(tmp_path: Path) -> None:
    for name, text in (("one", f"a{UNSEEN}"), ("two", f"b{UNSEEN}")):
        with serving(replying(saying(text))) as server:
            base = (*run_at(server), "--record", name)
            assert toolreel(*base, cwd=tmp_path).code == 0
    for said in said_by_each([("explain", "one", "two"), ("replay", "one"), ("replay", UNSEEN)], tmp_path):
        assert not unseen_in(said.stdout + said.stderr), said
