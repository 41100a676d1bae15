"""Recordings of agents in agents: replayed, forked, and resumed after a kill, against a real server."""

# ruff: noqa: ANN401 - settings are whatever an agent takes
from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.commands import toolreel
from tests.patience import HANG, eventually
from tests.servers.chat_server import Answer, ChatServer, replying, serving
from toolreel import Agent, Changes, Run, Spent, fork, go_on, replay, resume
from toolreel._replay import fork_without_continuing
from toolreel.journals import MemoryJournal, Rehearsal, read_journal
from toolreel.testing import calling, saying

USAGE = {"prompt_tokens": 30, "completion_tokens": 5, "cost": 0.5}


def said(text: str) -> Answer:
    """An answer that costs half a dollar."""
    return replying({**saying(text), "usage": USAGE})


def asks(name: str) -> Answer:
    """A call of an agent, which costs the same."""
    return replying({**calling((name, {"prompt": "How many pins?"})), "usage": USAGE})


class Tree:
    """A chief who asks a foreman, who asks a clerk; what each records is in a folder of its own."""

    def __init__(self, server: ChatServer, folder: Path) -> None:
        self.folder = folder
        clerk = Agent("clerk", base_url=server.url)
        asks_clerk = clerk.as_tool("ask_clerk", record=folder / "clerks")
        foreman = Agent("foreman", base_url=server.url, tools=[asks_clerk])
        asks_foreman = foreman.as_tool("ask_foreman", record=folder / "foremen")
        self.chief = Agent("chief", base_url=server.url, tools=[asks_foreman])

    @property
    def names(self) -> list[str]:
        """The inner recordings that are complete, by folder and number instead of their keys."""
        journals = self.folder.glob("*/*.journal.jsonl")
        return sorted(path.parent.name + path.name.split(".")[0].partition("-")[2] for path in journals)


def answer_to_all(last: str = "There are four.") -> tuple[Answer, ...]:
    """What the server says to the whole tree."""
    return asks("ask_foreman"), asks("ask_clerk"), said("Four."), said("Four of them."), said(last)


def gone_on(agent: Agent[Any], state: Any) -> Run:
    with agent.ports() as ports:
        return go_on(state, ports)


BILL = Spent(90, 15, 1.5, priced=3)


def test_the_outer_journal_replays_byte_for_byte_and_bills_the_whole_tree(tmp_path: Path) -> None:
    with serving(*answer_to_all()) as server:
        tree = Tree(server, tmp_path)
        ended = tree.chief.run("Pins?", record=tmp_path / "chief")
        requests = len(server.seen)
    assert (ended.text, ended.cost, ended.state.tally.by_tools) == ("There are four.", 2.5, BILL)
    assert requests == 5
    path = tmp_path / "chief.journal.jsonl"
    recorded = read_journal(path)
    journal = MemoryJournal(recorded.plan)
    assert Rehearsal(recorded).play(recorded.plan, journal=journal).state == ended.state
    assert journal.text == recorded.text
    assert replay(tmp_path / "chief").run.state == ended.state
    shown = toolreel("replay", "chief", cwd=tmp_path).stdout
    assert "tokens of inner agents 105" in " ".join(shown.split())
    for inner, cost in (("foremen", 1.5), ("clerks", 0.5)):
        (cassette,) = (tmp_path / inner).glob("*.yaml")
        assert replay(cassette).run.cost == cost


def test_a_fork_after_the_call_keeps_its_answer_and_one_before_it_runs_it_again(tmp_path: Path) -> None:
    with serving(*answer_to_all(), said("Four!"), *answer_to_all("Four!")[1:]) as server:
        tree = Tree(server, tmp_path)
        tree.chief.run("Pins?", record=tmp_path / "chief")
        journal, five = tmp_path / "chief.journal.jsonl", Changes(tool_result='{"answer": "Five."}')
        after = gone_on(tree.chief, fork_without_continuing(journal, 2, five).run.state)
        assert (len(server.seen), tree.names) == (6, ["clerks", "foremen"])
        assert fork(journal, 1).run.state.tally.by_tools == BILL
        before = gone_on(tree.chief, fork_without_continuing(journal, 1).run.state)
    for ended in (after, before):
        assert (ended.text, ended.cost, ended.state.tally.by_tools) == ("Four!", 2.5, BILL)
    assert tree.names == ["clerks", "clerks2", "foremen", "foremen2"]  # each under the next number


PROGRAM = """
import sys
from pathlib import Path
from tests.adapters.agent.test_trees_of_agents import Tree
from tests.servers.chat_server import ChatServer

url, folder = sys.argv[1:]
Tree(ChatServer(url, []), Path(folder)).chief.run("Pins?", record=Path(folder) / "chief")
"""


def test_a_run_that_was_killed_in_an_inner_run_resumes_and_runs_it_again(tmp_path: Path) -> None:
    hangs = Answer(delay=HANG)
    with serving(asks("ask_foreman"), asks("ask_clerk"), hangs, *answer_to_all()[1:]) as server:
        run = subprocess.Popen([sys.executable, "-c", PROGRAM, server.url, str(tmp_path)])
        try:
            eventually(lambda: len(server.seen) == 3, "the clerk is asked")
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()
        tree = Tree(server, tmp_path)
        with tree.chief.ports() as ports:
            ended = resume(tmp_path / "chief.journal.jsonl", ports)
    # What the killed inner runs took is in their own journals.
    assert (ended.text, ended.cost, ended.state.tally.by_tools) == ("There are four.", 2.5, BILL)
    assert tree.names == ["clerks2", "foremen2"]
    parts = sorted(path.parent.name for path in tmp_path.glob("*/*.part"))
    assert parts == ["clerks", "foremen"]
