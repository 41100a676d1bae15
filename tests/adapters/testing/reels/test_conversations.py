"""Conversations of plans in a reel: recorded once, in one journal, and replayed exchange by exchange."""

# ruff: noqa: ANN401 - settings are those of a run

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import trio

from tests.adapters.driver.immediate import ImmediateApprover
from tests.samples import complaint
from tests.servers.chat_server import Answer, replying, serving
from toolreel import Always, ConfigError, Plan, PythonTools, ReplayMismatch, Run, tool
from toolreel.cassette import Vary
from toolreel.journals import read_journal
from toolreel.testing import LiveSide, Reel, ReelFiles, calling, saying

STOCK = {"pin": 4, "shim": 0}


@tool(needs_approval=True)
def stock(part: str) -> int:
    """How many of a part are in stock."""
    return STOCK[part]


TOOLS = PythonTools([stock])
TALK = (
    replying(calling(("stock", {"part": "pin"}))),
    replying(saying("There are 4.")),
    replying(calling(("stock", {"part": "shim"}))),
    replying(saying("None.")),
    replying(saying("You are welcome.")),
)
Talk = Callable[..., list[Run]]


def asking(question: str = "How many pins?") -> Plan:
    return Plan.of(model="m", messages=question, tools=TOOLS.surface)


def blocking(reel: Reel, second: str = "And shims?", **settings: Any) -> list[Run]:
    """Three exchanges."""
    first = reel.run(asking(), TOOLS, approver=Always(), **settings)
    return [first, (then := reel.speak(first, second)), reel.speak(then, "Thanks!")]


def awaiting(begin: Callable[[Callable[[], Coroutine[Any, Any, list[Run]]]], list[Run]]) -> Talk:
    """The same on an event loop for each exchange."""

    def talked(reel: Reel, second: str = "And shims?", **settings: Any) -> list[Run]:
        async def talk() -> list[Run]:
            first = await reel.arun(asking(), TOOLS, approver=ImmediateApprover(Always()), **settings)
            return [first, await reel.aspeak(first, second)]

        said = begin(talk)

        async def thank() -> list[Run]:
            return [await reel.aspeak(said[-1], "Thanks!")]

        return said + begin(thank)

    return talked


talks = pytest.mark.parametrize(
    "talk",
    [blocking, awaiting(lambda begun: asyncio.run(begun())), awaiting(trio.run)],
    ids=["sync", "asyncio", "trio"],
)


def recorded(files: ReelFiles, talk: Talk = blocking, script: tuple[Answer, ...] = TALK) -> list[Run]:
    with serving(*script) as server:
        reel = Reel(files, LiveSide(server.url), recording=True)
        said = talk(reel)
        reel.finish()
        reel.close()
        reel.save()
    return said


@talks
@pytest.mark.parametrize("in_replay", [True, False])
def test_a_conversation_is_one_recording_and_replays(files: ReelFiles, talk: Talk, in_replay: bool) -> None:
    done = recorded(files, talk)
    assert [run.text for run in done] == ["There are 4.", "None.", "You are welcome."]
    assert done[-1].notes[: len(done[0].notes)] == done[0].notes
    assert sum(record.kind == "user_spoke" for record in read_journal(files.journal(1)).records) == 2
    assert not files.journal(2).exists()
    reel = Reel(files)
    assert talk(reel, tools_in_replay=in_replay) == done
    reel.finish()
    told = complaint(ReplayMismatch, lambda: talk(Reel(files), "And nuts?"))
    assert told.startswith("exchange 2 of the conversation: ")
    assert '"And shims?"' in told
    assert '"And nuts?"' in told


def test_an_exchange_too_few_or_too_many_fails_the_test(files: ReelFiles) -> None:
    recorded(files)
    reel = Reel(files)
    reel.run(asking(), TOOLS)
    assert "the run ended before recorded event" in complaint(ReplayMismatch, reel.finish)
    reel = Reel(files)
    _, _, last = blocking(reel)
    told = complaint(ReplayMismatch, lambda: reel.speak(last, "One more."))
    assert told.startswith("exchange 4 of the conversation: ")


@pytest.mark.parametrize("at", [None, "/messages/4/content"])
def test_what_may_vary_may_vary_in_what_the_user_says(files: ReelFiles, at: str | None) -> None:
    recorded(files)
    reel = Reel(files, vary=[Vary(at=at, pattern=r"And \w+\?", becomes="And <part>?")])
    assert [run.text for run in blocking(reel, "And nuts?")] == ["There are 4.", "None.", "You are welcome."]
    reel.finish()


def test_only_a_run_of_the_reel_on_the_same_driver_goes_on(files: ReelFiles) -> None:
    recorded(files)
    mine, other = Reel(files), Reel(files)
    foreign = other.run(asking(), TOOLS)
    words = "the run is none of this reel; give one that reel.run or reel.speak returned"
    assert complaint(ConfigError, lambda: mine.speak(foreign, "And shims?")) == words
    run = mine.run(asking(), TOOLS)
    with pytest.raises(ConfigError, match=r"the run is not async; write reel\.speak\(run, content\)"):
        asyncio.run(mine.aspeak(run, "And shims?"))
    third = Reel(files)
    awaited = asyncio.run(third.arun(asking(), TOOLS))
    with pytest.raises(ConfigError, match=r"the run is async; write await reel\.aspeak\(run, content\)"):
        third.speak(awaited, "And shims?")
