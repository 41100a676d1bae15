"""Agents in a reel: a conversation is recorded once, in one recording, and replays without its server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.samples import complaint
from tests.servers.chat_server import Answer, replying, serving
from tests.servers.chat_server import streaming as pieces
from toolreel import Agent, AgentRun, ConfigError, ReplayMismatch, tool
from toolreel._journal import journal_path
from toolreel.cassette import Vary
from toolreel.errors import EndpointConfigError
from toolreel.journals import read_journal
from toolreel.ports import AsyncSystemClock, SystemClock
from toolreel.stream_events import AgentEvent, RunEnded, TextDelta
from toolreel.testing import LiveSide, Reel, ScriptedEndpoint, calling, saying, streaming

STOCK = {"pin": 4, "shim": 0}


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return STOCK[part]


@tool(needs_approval=True)
def order(part: str) -> str:
    """Order a part."""
    return f"{part} ordered"


AGENT = Agent("m", tools=[stock, order], instructions="Be brief.")
TALK = (
    replying(calling(("stock", {"part": "pin"}))),
    replying(saying("There are 4.")),
    replying(calling(("stock", {"part": "shim"}))),
    pieces(streaming("There ", "are none.")),
    replying(calling(("order", {"part": "shim"}))),
    replying(saying("Ordered.")),
)
Talk = Callable[..., list[Any]]


def blocking(reel: Reel, second: str = "And shims?") -> list[Any]:
    """Three exchanges, the second streamed, the third with an approval."""
    first = reel.agent(AGENT).run("How many pins?")
    events = list(first.reply_stream(second))
    third = run_of(events).reply("Order one.")
    return [first.text, texts(events), third.outcome.name, third.approve().text]


def awaiting(begin: Callable[..., Any]) -> Talk:
    """The same on an event loop."""

    async def talk(reel: Reel, second: str) -> list[Any]:
        first = await reel.agent(AGENT).arun("How many pins?")
        async with aclosing(first.areply_stream(second)) as replied:
            events = [event async for event in replied]
        third = await run_of(events).areply("Order one.")
        return [first.text, texts(events), third.outcome.name, (await third.aapprove()).text]

    def talked(reel: Reel, second: str = "And shims?") -> list[Any]:
        said: list[Any] = begin(talk, reel, second)
        return said

    return talked


def run_of(events: list[AgentEvent[Any]]) -> AgentRun[Any]:
    last = events[-1]
    assert isinstance(last, RunEnded)
    return last.run


def texts(events: list[AgentEvent[Any]]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


talks = pytest.mark.parametrize(
    "talk",
    [blocking, awaiting(lambda talk, *given: asyncio.run(talk(*given))), awaiting(trio.run)],
    ids=["sync", "asyncio", "trio"],
)
SAID = ["There are 4.", ["There ", "are none."], "resting", "Ordered."]


def recorded(reel_path: Path, talk: Talk = blocking, script: tuple[Answer, ...] = TALK) -> list[Any]:
    with serving(*script) as server:
        reel = Reel(reel_path, LiveSide(server.url), recording=True)
        said = talk(reel)
        reel.finish()
        reel.save()
    return said


@talks
def test_a_conversation_is_recorded_as_one_session_and_replays(reel_path: Path, talk: Talk) -> None:
    assert recorded(reel_path, talk) == SAID
    names = sorted(each.name for each in reel_path.parent.iterdir())
    assert names == ["talk.journal.jsonl", "talk.yaml"]
    assert sum(record.kind == "user_spoke" for record in read_journal(journal_path(reel_path)).records) == 2
    reel = Reel(reel_path)
    assert talk(reel) == SAID
    reel.finish()
    told = complaint(ReplayMismatch, lambda: talk(Reel(reel_path), "And nuts?"))
    assert "first change: messages[5].content" in told
    reel = Reel(reel_path)
    reel.vary(Vary(pattern=r"And \w+\?", becomes="And <part>?"))
    assert talk(reel, "And nuts?") == SAID
    reel.finish()


def test_an_exchange_too_few_fails_the_test(reel_path: Path) -> None:
    recorded(reel_path)
    reel = Reel(reel_path)
    reel.agent(AGENT).run("How many pins?")
    assert "the run ended before recorded event" in complaint(ReplayMismatch, reel.finish)


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_a_stream_is_a_run_like_any_other(reel_path: Path, way: str) -> None:
    def talk(reel: Reel) -> list[Any]:
        async def listed() -> list[AgentEvent[Any]]:
            async with aclosing(reel.agent(AGENT).astream("How many pins?")) as events:
                return [event async for event in events]

        if way == "sync":
            return texts(list(reel.agent(AGENT).stream("How many pins?")))
        return texts(asyncio.run(listed()))

    script = (TALK[0], pieces(streaming("There ", "are 4.")))
    assert recorded(reel_path, talk, script) == ["There ", "are 4."]
    reel = Reel(reel_path)
    assert talk(reel) == ["There ", "are 4."]
    reel.finish()


def test_each_run_of_an_agent_has_a_journal_of_its_own_and_inner_agents_share_the_cassette(
    reel_path: Path,
) -> None:
    def talk(reel: Reel) -> list[Any]:
        clerk = reel.agent(Agent("clerk")).as_tool("ask_clerk", "Ask the clerk.")
        chief = reel.agent(Agent("chief", tools=[clerk]))
        return [chief.run(question).text for question in ("Pins?", "Shims?")]

    asks = replying(calling(("ask_clerk", {"prompt": "How many?"})))
    script = (asks, replying(saying("4")), replying(saying("Four.")), replying(saying("I don't know.")))
    assert recorded(reel_path, talk, script) == ["Four.", "I don't know."]
    assert [path.exists() for path in (journal_path(reel_path), journal_path(reel_path, 2))] == [True, True]
    reel = Reel(reel_path)
    assert talk(reel) == ["Four.", "I don't know."]
    reel.finish()


KEY = "sk-own-0123456789"


def test_without_a_server_of_the_reel_the_agent_records_from_its_own_and_its_key_stays_hidden(
    reel_path: Path,
) -> None:
    def asked(reel: Reel, agent: Agent[str]) -> str:
        return reel.agent(agent).run("Hi.").text

    with serving(replying(saying("Hello.")), replying(saying(f"The key is {KEY}."))) as server:
        own = Agent("m", base_url=server.url, api_key=KEY)
        reel = Reel(reel_path, recording=True)
        assert asked(reel, own) == "Hello."
        reel.save()
        assert [seen.headers["authorization"] for seen in server.seen] == [f"Bearer {KEY}"]
        echoing = Reel(reel_path.with_name("echo.yaml"), recording=True)
        assert KEY not in asked(echoing, own)
        echoing.save()
    # A replay needs neither the server nor the key.
    assert asked(Reel(reel_path), Agent("m", base_url=server.url, api_key_env="NOT_SET_HERE")) == "Hello."
    assert KEY not in "".join(path.read_text("utf-8") for path in reel_path.parent.iterdir())


def test_recording_without_any_server_says_how_to_name_one(
    reel_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOOLREEL_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    agent = Reel(reel_path, recording=True).agent(Agent("m"))
    with pytest.raises(EndpointConfigError, match=r"base_url=.*; or give pytest --reel-live-url URL$"):
        agent.run("Hi.")


def test_an_endpoint_of_ones_own_is_refused(reel_path: Path) -> None:
    own = Agent("m", endpoint=ScriptedEndpoint([]))
    words = "reel.agent: an endpoint of your own is not recorded; write base_url="
    assert complaint(ConfigError, lambda: Reel(reel_path).agent(own)) == words


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_a_wait_takes_no_time_in_a_replay(reel_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(reel: Reel) -> list[Any]:
        agent = reel.agent(AGENT)
        run = agent.run("How many pins?") if way == "sync" else asyncio.run(agent.arun("How many pins?"))
        return [run.text]

    busy = Answer(b"busy", 503, {"retry-after": "0"})
    recorded(reel_path, talk, (busy, replying(saying("There are 4."))))
    assert '"wait_elapsed"' in journal_path(reel_path).read_text("utf-8")

    def slept(*_: object) -> None:
        raise AssertionError("a replay waits")

    for clock in (SystemClock, AsyncSystemClock):
        monkeypatch.setattr(clock, "wait", slept)
    reel = Reel(reel_path)
    assert talk(reel) == ["There are 4."]
    reel.finish()
