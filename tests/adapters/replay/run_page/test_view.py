"""Pages from files and from memory: which data they are made of, how large they are, what they never hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from tests.pages.recordings import long, rich
from tests.replay.sessions import ADOPTED, CASSETTES, cassette
from tests.samples import PING
from tests.wire_forms import OTHER_FORMS, in_form, said_in
from toolreel import Agent
from toolreel._driver import Ports, run
from toolreel._journal import MemoryJournal, Recorded, load_recorded_run, parse_journal
from toolreel._replay import (
    RunTree,
    Trace,
    recorded_run_tree,
    recording_page,
    retrace,
    run_warnings,
    runs_page,
)
from toolreel.testing import Lost, ScriptedEndpoint, ScriptedTools, calling, saying
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Plan
from toolreel_core._protocol import SendRequest
from toolreel_core._settings import LoopConfig, WireForm


def heads(page: str) -> list[dict[str, Any]]:
    """The heads of the runs of a page."""
    found = re.findall(r'<script type="application/json" id="run-\d+">(.*?)</script>', page)
    return [json.loads(each) for each in found]


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.parent.name)
def test_the_same_recording_gives_the_same_page(path: Path) -> None:
    page = recording_page(path)
    assert page == recording_page(path)
    (head,) = heads(page)
    trace = retrace(load_recorded_run(path))
    assert head["outcome"] == trace.run.outcome.name
    assert len(head["turns"]) == trace.run.state.tally.turns
    assert str(path.parent) not in page, "a page is passed on, and names no folder"
    assert_whole(trace)


def test_a_cassette_of_another_client_has_all_of_its_runs() -> None:
    (path,) = (each for each in ADOPTED if each.parent.name == "openai-sdk")
    assert [head["outcome"] for head in heads(recording_page(path))] == ["completed", "completed"]


def test_a_claim_without_a_call_is_warned_of() -> None:
    run = retrace(load_recorded_run(cassette("false-claim"))).run
    assert ("warn", "offered and never run: state_patch", []) in run_warnings(run)


def test_a_large_page_is_cut_and_says_so(tmp_path: Path) -> None:
    tree = recorded_run_tree(retrace(load_recorded_run(long(tmp_path, 30))), "x")
    whole = runs_page([tree])
    short = runs_page([tree], limit=len(whole) // 8)
    assert len(short) < len(whole)


def test_a_run_in_memory_has_its_conversation_and_no_secret() -> None:
    key = "sk-ABCDEFGHIJKLMNOP"
    endpoint = ScriptedEndpoint(
        [calling(("ask", {"a": key})), Lost("status", f"HTTP 401: {key} is wrong", 401)]
    )
    agent = Agent("scripted", endpoint=endpoint, config={"max_tries": 1})
    run = agent.run("Hi.")
    page = run.view(open_page=False).read_text("utf-8")
    (head,) = heads(page)
    assert "recorded" not in head
    assert (len(head["opening"]), head["turns"]) == (3, [])


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


# What requests sent of the stored history, as a page has it: every request can be put together again.


def requests_of(tree: RunTree) -> list[Any]:
    """The requests of a page."""
    steps: list[Any] = [step for _, steps in tree.steps for step in steps]
    return [step for step in steps if step["kind"] == "request"]


def assert_whole(trace: Trace) -> None:
    """Every body can be made of the items and options of the page, and every difference is counted."""
    tree = recorded_run_tree(trace, "x")
    effects = [each for each in trace.events if isinstance(each.effect, SendRequest)]
    for traced, shown in zip(effects, requests_of(tree), strict=True):
        assert isinstance(traced.effect, SendRequest)
        sent = [
            tree.items[first + at]
            for how, _, first, count, _ in shown["sent"]
            if how != "left_out"
            for at in range(count)
        ]
        body = json.loads(traced.effect.request.body)
        assert sent == body.get("input" if shown["form"] == "responses" else "messages")
        options = json.loads(cast("Any", tree.head["options"])[shown["options"]])
        assert options.items() <= body.items()


def test_requests_with_quirks_pictures_and_a_second_exchange_are_whole(tmp_path: Path) -> None:
    assert_whole(retrace(load_recorded_run(rich(tmp_path))))


def recorded(form: WireForm | None = None, **settings: Any) -> Recorded:  # noqa: ANN401 - settings of the loop
    """A run of three calls, whose history may be shortened and has a reminder."""
    plan = Plan.of(
        model="m",
        messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Ping."}],
        tools=[PING],
        config=LoopConfig(**settings),
    )
    plan = plan if form is None else in_form(plan, form)
    script = [calling(("ping", {})), calling(("ping", {}), ("ping", {})), saying("Done.")]
    lines = [canonical(line) if form is None else said_in(form, canonical(line)) for line in script]
    journal = MemoryJournal(plan)
    ports = Ports(ScriptedEndpoint(lines), ScriptedTools({"ping": [{"pong": "x" * 900}] * 3}))
    run(plan, ports, journal=journal)
    return parse_journal(journal.text)


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_other_forms_are_compared_in_their_own_form(form: WireForm) -> None:
    trace = retrace(recorded(form))
    assert_whole(trace)
    for shown in requests_of(recorded_run_tree(trace, "x")):
        assert {how for how, *_ in shown["sent"]} == {"same"}, "a form is no difference"


def test_a_shortened_history_and_a_reminder_are_told() -> None:
    shortened: dict[str, Any] = {"context_window_tokens": 800, "history_policies": ("drop_old_tool_turns",)}
    trace = retrace(recorded(**shortened, restate_task=True))
    assert_whole(trace)
    told = {how for shown in requests_of(recorded_run_tree(trace, "x")) for how, *_ in shown["sent"]}
    assert told == {"same", "left_out", "added"}


def test_a_difference_is_fresh_once(tmp_path: Path) -> None:
    seen = [
        [fresh for how, *_, fresh in shown["sent"] if how != "same"]
        for shown in requests_of(recorded_run_tree(retrace(load_recorded_run(rich(tmp_path))), "x"))
    ]
    assert any(seen[2])
    assert not any(seen[-1]), "the last request repeats what was told"


def test_a_request_takes_no_more_room_when_the_history_is_longer(tmp_path: Path) -> None:
    tree = recorded_run_tree(retrace(load_recorded_run(long(tmp_path, 60))), "x")
    assert {len(shown["sent"]) for shown in requests_of(tree)} == {1}
    assert len(tree.items) == 2 * 60 - 1
