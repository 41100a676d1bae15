"""A recorded run goes on in another wire form: its kept replies are read in the form that they came in."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Final

import pytest

from tests.cli.commands import toolreel
from tests.servers.chat_server import Answer, serving
from tests.wire_forms import OTHER_FORMS, events_of, said_in
from toolreel import Changes, FileJournal, Plan, Ports, Provider, PythonTools, fork, run
from toolreel.http import HttpEndpoint
from toolreel.testing import calling, saying
from toolreel_core import Completed
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import PATHS, WireForm

FORMS: Final[tuple[WireForm, ...]] = ("chat_completions", *OTHER_FORMS)
KEPT: Final = 2
"""A reply with a call, and its result."""


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


def answer(form: WireForm, body: Tree, *, streamed: bool = False) -> Answer:
    said = said_in(form, canonical(body))
    if streamed and form != "chat_completions":
        said = "".join(events_of(form, json.loads(said)))
    return Answer(said.encode())


def recorded(path: Path, form: WireForm, *, streamed: bool) -> Path:
    journal = path / "was.journal.jsonl"
    tools = PythonTools([stock])
    plan = Plan.of(model="m", messages="How many?", tools=tools.surface, provider=Provider(wire_form=form))
    call = answer(form, calling(("stock", {"part": "pin"})), streamed=streamed)
    with (
        serving(call, answer(form, saying("There are 3."))) as server,
        HttpEndpoint(server.url) as endpoint,
        FileJournal(journal, plan) as kept,
    ):
        run(plan, Ports(endpoint, tools), journal=kept)
    return journal


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("was", FORMS)
@pytest.mark.parametrize("now", FORMS)
def test_a_run_goes_on_in_another_form(tmp_path: Path, was: WireForm, now: WireForm, streamed: bool) -> None:
    journal = recorded(tmp_path, was, streamed=streamed)
    with serving(answer(now, saying("Three."))) as server, HttpEndpoint(server.url) as endpoint:
        forked = fork(
            journal,
            KEPT,
            Changes(provider={"wire_form": now}),
            performer=Ports(endpoint, PythonTools([stock])),
        )
        (seen,) = server.seen
    assert forked.run.outcome == Completed("Three.")
    assert seen.path == f"/v1{PATHS[now]}"
    assert '\\"value\\":3' in seen.body.decode()


@pytest.mark.parametrize(("was", "now"), [("messages", "chat_completions"), ("chat_completions", "messages")])
def test_so_does_one_on_the_command_line(tmp_path: Path, was: WireForm, now: WireForm) -> None:
    journal = recorded(tmp_path, was, streamed=False)
    (tmp_path / "its_tools.py").write_text(inspect.getsource(stock), encoding="utf-8")
    with serving(answer(now, saying("Three."))) as server:
        done = toolreel(
            *("fork", str(journal), "--at", str(KEPT), "--set", f"wire_form={now}"),
            *("--base-url", server.url, "--tools", "its_tools:stock"),
            cwd=tmp_path,
        )
        assert done.code == 0, done.stderr
        (seen,) = server.seen
    assert seen.path == f"/v1{PATHS[now]}"
    assert "Three." in done.stdout
