"""Pages from files and from memory: which data they are made of, how large they are, what they never hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.pages.recordings import long
from tests.replay.sessions import ADOPTED, CASSETTES, cassette
from toolreel import Agent
from toolreel._internal import AdapterError
from toolreel._journal import opened
from toolreel._replay import PageRun, page_of, page_of_runs, retrace, traced_tree, warnings_of, write_page
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying


def heads(page: str) -> list[dict[str, Any]]:
    """The heads of the runs of a page."""
    found = re.findall(r'<script type="application/json" id="run-\d+">(.*?)</script>', page)
    return [json.loads(each) for each in found]


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.parent.name)
def test_the_same_recording_gives_the_same_page(path: Path) -> None:
    page = page_of(path)
    assert page == page_of(path)
    (head,) = heads(page)
    trace = retrace(opened(path))
    assert head["outcome"] == trace.run.outcome.name
    assert len(head["turns"]) == trace.run.state.tally.turns
    assert str(path.parent) not in page, "a page is passed on, and names no folder"


def test_a_cassette_of_another_client_has_all_of_its_runs() -> None:
    (path,) = (each for each in ADOPTED if each.parent.name == "openai-sdk")
    assert [head["outcome"] for head in heads(page_of(path))] == ["completed", "completed"]


def test_two_recordings_of_one_name_are_told_apart_by_their_folders() -> None:
    page = page_of(cassette("recovered"), cassette("empty-final"))
    name = cassette("recovered").name.removesuffix(".yaml")
    assert [head["name"] for head in heads(page)] == [f"recovered/{name}", f"empty-final/{name}"]


def test_a_claim_without_a_call_is_warned_of() -> None:
    run = retrace(opened(cassette("false-claim"))).run
    assert ["warn", "offered and never run: state_patch", []] in warnings_of(run)


def test_a_large_page_is_cut_and_says_so(tmp_path: Path) -> None:
    tree = traced_tree(retrace(opened(long(tmp_path, 30))), "x")
    whole = page_of_runs([PageRun(tree)])
    short = page_of_runs([PageRun(tree)], limit=len(whole) // 8)
    assert len(short) < len(whole)


def test_a_run_in_memory_has_its_turns_and_no_secret() -> None:
    key = "sk-ABCDEFGHIJKLMNOP"
    endpoint = ScriptedEndpoint(
        [calling(("ask", {"a": key})), Lost("status", f"HTTP 401: {key} is wrong", 401)]
    )
    agent = Agent("scripted", endpoint=endpoint, config={"max_tries": 1})
    run = agent.run("Hi.")
    path = run.view(open_page=False)
    (head,) = heads(path.read_text("utf-8"))
    assert "recorded" not in head
    assert [turn[0] for turn in head["turns"]] == [1, 2]


def test_a_run_that_went_on_is_shown_as_it_is_in_memory(tmp_path: Path) -> None:
    endpoint = ScriptedEndpoint([saying("One."), saying("Two.")])
    first = Agent("scripted", endpoint=endpoint).run("Hi.", record=tmp_path / "talk")
    second = first.reply("And?")
    shown = {
        run: heads(run.view(tmp_path / "x.html", open_page=False).read_text("utf-8"))
        for run in (first, second)
    }
    assert [head["recorded"] for head in shown[second]] == [True]
    assert "recorded" not in shown[first][0], "its recording has gone on without it"


def test_a_page_that_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="the page cannot be written there"):
        write_page(tmp_path / "nowhere" / "x.html", "")
