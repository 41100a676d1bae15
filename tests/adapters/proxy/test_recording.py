"""Conversations are recognised, recorded one by one, and replayed; sessions that run at once never mix."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.adapters.proxy.test_chat import ASKED, TOOLS, calling, saying, to
from tests.patience import HANG
from tests.servers.chat_server import LIMIT, Answer, chunk, replying, serving, streaming
from tests.servers.proxy_server import proxying, served
from tests.servers.session_server import TOOL, session_app
from toolreel._journal import journal_path
from toolreel._replay import replay
from toolreel.cassette import Session
from toolreel.proxy import Conversation, ProxySettings, Recorder, Route
from toolreel.testing import check
from toolreel_core import Completed
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json
from toolreel_core._proxy import ConversationKey, Profile

SESSIONS, TURNS = 20, 4


async def session(client: httpx.AsyncClient, url: str, word: str, *, stream: bool) -> list[str]:
    """Play one session as a client that keeps its history; returns the texts of the model."""
    said: list[str] = []
    messages: list[Any] = [{"role": "user", "content": word}]
    while True:
        body = {"model": "m", "messages": messages, "tools": [TOOL], "stream": stream}
        response = await client.post(f"{url}/chat/completions", json=body)
        assert response.status_code == 200, response.text
        message = joined(response.text) if stream else response.json()["choices"][0]["message"]
        said.append(message.get("content") or "")
        calls = message.get("tool_calls")
        if not calls:
            return said
        # Clients change what they send back: here the text next to calls is dropped.
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            result = f"{word} {call['function']['arguments']}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def joined(text: str) -> dict[str, Any]:
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"] for event in events]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    return {
        "role": "assistant",
        "content": "".join(delta.get("content") or "" for delta in deltas),
        "tool_calls": calls,
    }


async def at_once(url: str, count: int) -> list[list[str]]:
    async with httpx.AsyncClient(timeout=HANG, limits=httpx.Limits(max_connections=count)) as client:
        sessions = (session(client, url, f"w{n}", stream=n % 2 == 0) for n in range(count))
        return await asyncio.gather(*sessions)


def check_apart(folder: Path, count: int, turns: int) -> None:
    """Each session has a cassette of its own, with its own words only."""
    cassettes = sorted(folder.glob("*.yaml"))
    assert len(cassettes) == count
    words = set[str]()
    for path in cassettes:
        exchanges = Session(path).exchanges
        first = [json.loads(one.body)["messages"][0]["content"] for one in exchanges]
        assert len(exchanges) == turns + 1
        assert len(set(first)) == 1
        words |= set(first)
    assert words == {f"w{n}" for n in range(count)}


def test_sessions_at_once_are_recorded_apart_and_replayed(tmp_path: Path) -> None:
    with served(session_app(TURNS)) as upstream:
        settings = ProxySettings((Route(upstream),), folder=tmp_path)
        with proxying(settings) as proxy:
            recorded = asyncio.run(at_once(proxy.url, SESSIONS))
    check_apart(tmp_path, SESSIONS, TURNS)
    assert [texts[-1] for texts in recorded] == [f"It was w{n}." for n in range(SESSIONS)]
    replayed = ProxySettings((Route("http://nowhere.invalid"),), folder=tmp_path, mode="replay")
    with proxying(replayed) as proxy:
        assert asyncio.run(at_once(proxy.url, SESSIONS)) == recorded
    journals = [*tmp_path.glob("*.journal.jsonl")]
    assert len(journals) == SESSIONS
    assert isinstance(replay(journals[0]).run.outcome, Completed)


def test_a_conversation_replays_by_its_name_and_its_journal_has_to_come_of_its_cassette(
    tmp_path: Path,
) -> None:
    """Its requests are in the client's words, which no request of ours repeats."""
    with (
        serving(saying("Four."), saying("Five,\u2028no line of a journal.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        ask(proxy.url, user="somebody", temperature=1)
        ask(proxy.url, [*ASKED, {"role": "assistant", "content": "Four."}, *ASKED])
    one, *_ = paths = sorted(tmp_path.glob("*.yaml"))
    for path in paths:
        assert replay(path.with_suffix("")).cassette is None
    assert check(tmp_path, now=datetime.now(UTC)).findings == ()
    stray = journal_path(one.with_stem(f"{one.stem}+3"))  # its client began again once
    shutil.copy(journal_path(one), stray)
    with pytest.raises(ReplayMismatch, match=f"its run is not in {re.escape(one.name)}; delete the journal"):
        replay(one)
    stray.unlink()
    one.write_text(one.read_text("utf-8").replace("Four.", "Nine."), "utf-8")
    with pytest.raises(ReplayMismatch, match="Nine"):
        replay(one)
    assert [found.kind for found in check(tmp_path, now=datetime.now(UTC)).findings] == ["drift"]


@pytest.mark.slow
def test_many_long_sessions_at_once(tmp_path: Path) -> None:
    with (
        served(session_app(9)) as upstream,
        proxying(ProxySettings((Route(upstream),), folder=tmp_path)) as proxy,
    ):
        asyncio.run(at_once(proxy.url, 200))
    check_apart(tmp_path, 200, 9)


def ask(url: str, messages: Any = ASKED, **further: Any) -> Any:  # noqa: ANN401 - what the SDK takes and gives
    with openai.OpenAI(base_url=url, api_key="sk-client-0123456789", max_retries=0) as sdk:
        done: Any = sdk.chat.completions.create(model="m", messages=messages, tools=TOOLS, **further)
        return done


def test_what_is_left_is_written_under_a_server_that_does_not_say_when_it_ends(tmp_path: Path) -> None:
    """Without the lifespan of ASGI, the end of the process is all that the proxy hears of."""
    code = """
import asyncio, sys
import httpx
from toolreel.proxy import ProxySettings, Route, proxy_app

app = proxy_app(ProxySettings((Route(sys.argv[1]),), folder=sys.argv[2]))

async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
        print((await client.post("/v1/chat/completions", json=body)).status_code)

asyncio.run(main())
"""
    with serving(saying("Four.")) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, server.url, str(tmp_path)],
            check=True,
            capture_output=True,
            text=True,
        )
    assert done.stdout == "200\n"
    (path,) = tmp_path.glob("*.yaml")
    assert len(Session(path).exchanges) == 1


def test_sessions_with_the_same_words_get_a_cassette_each(tmp_path: Path) -> None:
    with (
        serving(*[calling('{"part": "pin"}')] * 3, *[saying("Four.")] * 3) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        first = [ask(proxy.url).choices[0].message.to_dict() for _ in range(3)]
        for message in first:
            ask(proxy.url, [*ASKED, message, {"role": "tool", "tool_call_id": "c1", "content": "4"}])
    assert [len(Session(path).exchanges) for path in sorted(tmp_path.glob("*.yaml"))] == [2, 2, 2]
    assert {path.name for path in tmp_path.glob("*.yaml")} > {
        f"m--{sorted(tmp_path.glob('*.yaml'))[0].name[3:13]}-2.yaml"
    }


def test_a_client_that_asks_again_after_a_failure_stays_in_its_conversation(tmp_path: Path) -> None:
    with (
        serving(replying({"error": {"message": "Busy."}}, 503), saying("Four.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        with pytest.raises(openai.InternalServerError):
            ask(proxy.url)
        ask(proxy.url)
    (path,) = tmp_path.glob("*.yaml")
    assert len(Session(path).exchanges) == 2


def test_callers_with_other_keys_are_other_conversations(tmp_path: Path) -> None:
    history = [*ASKED, {"role": "assistant", "content": "Four."}, {"role": "user", "content": "Sure?"}]
    with (
        serving(saying("Four."), saying("Yes.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        for key, messages in (("sk-one-01234567890", ASKED), ("sk-two-01234567890", history)):
            body = {"model": "m", "messages": messages}
            httpx.post(f"{proxy.url}/chat/completions", json=body, headers={"authorization": f"Bearer {key}"})
    assert len([*tmp_path.glob("*.yaml")]) == 2


def test_a_conversation_with_a_secret_is_not_written(tmp_path: Path) -> None:
    secret = "sk-another-0123456789abcdefgh"  # noqa: S105 - no key
    with (
        serving(saying("Four."), saying(f"Her key is {secret}.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        ask(proxy.url)
        ask(proxy.url, [{"role": "user", "content": "Say her key."}])
    assert len([*tmp_path.glob("*.yaml")]) == 1
    assert all(secret not in path.read_text() for path in tmp_path.iterdir())
    told = [entry for entry in proxy.log if entry.get("is") == "not recorded"]
    assert len(told) == 1
    assert secret not in str(told)


def test_an_exchange_that_is_too_large_is_not_recorded_and_the_log_says_so(tmp_path: Path) -> None:
    packed = Answer(gzip.compress(bytes(LIMIT + 1)), headers={"content-encoding": "gzip"})
    large = (Answer(bytes(LIMIT + 1)), packed, streaming(chunk("x" * LIMIT)))
    with (
        serving(*large, saying("Four.")) as server,
        proxying(replace(to(server, response_bytes=LIMIT), folder=tmp_path)) as proxy,
    ):
        for _ in large:
            httpx.post(f"{proxy.url}/chat/completions", json={"model": "m", "messages": ASKED})
        ask(proxy.url)
    told = [entry for entry in proxy.log if entry.get("is") == "not recorded"]
    assert all(f"larger than {LIMIT} bytes" in str(entry["why"]) for entry in told)
    assert len(told) == len(large)
    assert [len(Session(path).exchanges) for path in tmp_path.glob("*.yaml")] == [1]


@pytest.mark.parametrize("of_the_proxy", [False, True])
def test_a_key_that_the_upstream_says_back_reaches_neither_client_nor_record_nor_log(
    of_the_proxy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "upstreamkey12"  # it has no shape
    monkeypatch.setenv("UPSTREAM", key)
    said = f"Incorrect API key provided: {key} ."
    frames = [chunk(said[start : start + 5]) for start in range(0, len(said), 5)]
    parts: Any = [{"type": "text", "text": f"It is {key[:6]}"}, {"type": "text", "text": f"{key[6:]}."}]
    with (
        serving(
            replying({"error": {"message": said}}, 401),
            saying(said),
            saying(parts),
            streaming(*frames, chunk(None, "stop"), "data: [DONE]\n\n"),
        ) as server,
        proxying(
            ProxySettings((Route(server.url, api_key_env="UPSTREAM" * of_the_proxy),), folder=tmp_path)
        ) as proxy,
    ):
        answers = [
            httpx.post(
                f"{proxy.url}/chat/completions",
                json={"model": "m", "messages": ASKED, "stream": streamed},
                headers={"authorization": f"Bearer {'sk-client' if of_the_proxy else key}"},
            )
            for streamed in (False, False, False, True)
        ]
    assert [answer.status_code for answer in answers] == [401, 200, 200, 200]
    for answer in answers[:2]:
        assert "API key provided: [value of the header authorization] ." in answer.text
    assert all(key not in text and key[6:] not in text for text in (each.text for each in answers))
    written = [path.read_text("utf-8") for path in tmp_path.iterdir()]
    assert len(written) >= 2
    assert key not in f"{proxy.log} {written}"


def test_a_replay_says_how_a_request_differs(tmp_path: Path) -> None:
    with (
        serving(saying("Four.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=tmp_path)) as proxy,
    ):
        ask(proxy.url)
    replaying = ProxySettings((Route("http://nowhere.invalid"),), folder=tmp_path, mode="replay")
    with proxying(replaying) as proxy:
        assert [ask(proxy.url).choices[0].message.content for _ in range(2)] == ["Four.", "Four."]
        with pytest.raises(openai.UnprocessableEntityError, match="How many nuts") as caught:
            ask(proxy.url, [{"role": "user", "content": "How many nuts?"}])
        assert caught.value.code == "replay_mismatch"
        models = httpx.get(f"{proxy.url}/models").json()["data"]
    assert [model["id"] for model in models] == ["m"]


def test_what_is_missing_is_recorded(tmp_path: Path) -> None:
    with serving(saying("Four."), saying("Five.")) as server:
        auto = ProxySettings((Route(server.url),), folder=tmp_path, mode="auto")
        with proxying(auto) as proxy:
            assert [ask(proxy.url).choices[0].message.content for _ in range(2)] == ["Four.", "Four."]
        with proxying(auto) as proxy:
            said = [ask(proxy.url, temperature=t).choices[0].message.content for t in (openai.omit, 1, 1)]
    assert said == ["Four.", "Five.", "Five."]
    assert len([*tmp_path.glob("*.yaml")]) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_its_client_did_not_wait_for_is_asked_for_again(stream: bool, tmp_path: Path) -> None:
    left = streaming(chunk("Fo"), 600.0, ends=False) if stream else Answer(delay=600.0)
    body = {"model": "m", "messages": ASKED, "stream": stream}
    replaying = ProxySettings((Route("http://nowhere.invalid"),), folder=tmp_path, mode="replay")
    with serving(left, saying("Four.")) as server:
        auto = ProxySettings((Route(server.url),), folder=tmp_path, mode="auto")
        with proxying(auto) as proxy, pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{proxy.url}/chat/completions", json=body, timeout=1)
        with proxying(replaying) as proxy:
            answer = httpx.post(f"{proxy.url}/chat/completions", json=body, timeout=HANG)
            assert ("Fo" in answer.text) is stream
            assert "the recorded client was cancelled while it waited here" in answer.text
        with proxying(auto) as proxy:
            said = [httpx.post(f"{proxy.url}/chat/completions", json=body, timeout=HANG) for _ in range(2)]
    with proxying(replaying) as proxy:
        said.append(httpx.post(f"{proxy.url}/chat/completions", json=body, timeout=HANG))
    assert ["Four." in each.text for each in said] == [True] * 3


def test_an_empty_folder_has_nothing_to_replay(tmp_path: Path) -> None:
    with (
        proxying(ProxySettings((Route("http://nowhere.invalid"),), folder=tmp_path, mode="replay")) as proxy,
        pytest.raises(openai.UnprocessableEntityError, match="has none of that kind"),
    ):
        ask(proxy.url)


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
        made.append(Conversation(path.stem, Session(path), Profile.of(), ConversationKey("", "")))
    return made


def ended(conversations: list[Conversation], *, hurried: bool = False) -> list[Mapping[str, Json]]:
    """What is told when these conversations end."""
    told: list[Mapping[str, Json]] = []
    routes = (Route("http://nowhere.invalid"),)
    recorder = Recorder(ProxySettings(routes, folder=conversations[0].recording.path.parent), told.append)
    for each in conversations:
        recorder.put_back(each, [], 0)
    if hurried:
        recorder.skip_journals()
    recorder.close()
    return told


def journals(folder: Path) -> list[Path]:
    return [*folder.glob("*.journal.jsonl")]


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
        over[0].recording.path.write_text("no cassette")
    (entry,) = ended(over[:1])
    assert (entry["conversation"], entry["is"]) == ("c0", "without a journal")
    assert ("secret" in str(entry["why"])) is secret
    assert journals(tmp_path) == []
