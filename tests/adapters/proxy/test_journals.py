"""Journals are made apart from the requests, and left out where there is no time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from tests.adapters.proxy.test_chat import ASKED, saying
from tests.servers.chat_server import serving
from tests.servers.proxy_server import proxying
from toolreel._journal import read_journal
from toolreel.cassette import Session
from toolreel.proxy import Conversation, ProxySettings, Route, Writer
from toolreel_core._jsontext import Json
from toolreel_core._proxy import Key, Profile

MANY = 20


@pytest.fixture
def over(tmp_path: Path) -> list[Conversation]:
    """Conversations that have a cassette and no journal."""
    with (
        serving(saying("Four.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        httpx.post(f"{proxy.url}/chat/completions", json={"model": "m", "messages": ASKED})
    (cassette,) = tmp_path.glob("*.yaml")
    for journal in tmp_path.glob("*.journal.jsonl"):
        journal.unlink()
    made: list[Conversation] = []
    for number in range(MANY):
        path = tmp_path / f"c{number}.yaml"
        path.write_bytes(cassette.read_bytes())
        made.append(Conversation(path.stem, Session(path), Profile.of(), Key("", "")))
    return made


def ended(conversations: list[Conversation], *, hurried: bool = False) -> list[Mapping[str, Json]]:
    """What is told when these conversations end."""
    told: list[Mapping[str, Json]] = []
    writer = Writer({}, told.append)
    if hurried:
        writer.skip_journals()
    first, *others = conversations
    writer.make_journals_soon(first)
    writer.close(others)
    return told


def journals(folder: Path) -> list[Path]:
    return [*folder.glob("*.journal.jsonl")]


def test_each_conversation_gets_its_journal(tmp_path: Path, over: list[Conversation]) -> None:
    assert ended(over) == []
    assert len(journals(tmp_path)) == MANY
    assert read_journal(tmp_path / "c0.journal.jsonl").plan.model == "m"


def test_who_cannot_wait_has_whole_cassettes_and_is_told_what_is_missing(
    tmp_path: Path, over: list[Conversation]
) -> None:
    (entry,) = ended(over, hurried=True)
    assert (entry["is"], entry["conversations"]) == ("without a journal", MANY)
    assert journals(tmp_path) == [*tmp_path.glob(".*")] == []


@pytest.mark.parametrize("secret", [False, True])
def test_what_stands_in_the_way_is_told(
    secret: bool, tmp_path: Path, over: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    if secret:
        monkeypatch.setenv("SOME_API_KEY", "How many pins?")
    else:
        over[0].path.write_text("no cassette")
    (entry,) = ended(over[:1])
    assert (entry["conversation"], entry["is"]) == ("c0", "without a journal")
    assert ("secret" in str(entry["why"])) is secret
    assert journals(tmp_path) == []
