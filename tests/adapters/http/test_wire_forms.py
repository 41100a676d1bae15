"""Runs with servers that speak Responses or Messages: over real HTTP, recorded, and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.servers.chat_server import Answer, Seen, serving
from tests.wire_forms import OTHER_FORMS, events_of, said_in
from toolreel import FileJournal, Plan, Ports, PythonTools, replay, run
from toolreel.cassette import use_cassette
from toolreel.http import HttpEndpoint
from toolreel.testing import calling, saying
from toolreel_core import Completed, LoopConfig, Provider, SystemMessage, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._settings import WireForm

KEY = {"MY_KEY": "sk-0123456789abcdef0123456789"}
STREAM = {"content-type": "text/event-stream"}


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


def plan_for(form: WireForm, *, streamed: bool) -> Plan:
    return Plan.of(
        model="m",
        messages=[SystemMessage("Be brief."), UserMessage("How many pins?")],
        tools=PythonTools([stock]).surface,
        provider=Provider(wire_form=form),
        config=LoopConfig(stream="always" if streamed else "never"),
    )


def answers(form: WireForm, *, streamed: bool) -> list[Answer]:
    """A call, and what it found."""
    bodies = (calling(("stock", {"part": "pin"})), saying("There are 3."))
    if not streamed:
        return [Answer(said_in(form, canonical(body)).encode()) for body in bodies]
    return [Answer(streamed_in(form, canonical(body)).encode(), headers=STREAM) for body in bodies]


def streamed_in(form: WireForm, body: str) -> str:
    return "".join(events_of(form, json.loads(said_in(form, body))))


def check(seen: list[Seen], form: WireForm) -> None:
    """Where the server was asked, and with which key; ``tests/domain`` has the bodies."""
    assert {each.path for each in seen} == {f"/v1/{form}"}
    headers = seen[0].headers
    if form == "messages":
        assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY["MY_KEY"], "2023-06-01")
        assert "authorization" not in headers
    else:
        assert headers["authorization"] == f"Bearer {KEY['MY_KEY']}"


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_speaks_the_form_of_its_server_and_replays_without_it(
    tmp_path: Path, form: WireForm, streamed: bool
) -> None:
    plan, tools = plan_for(form, streamed=streamed), PythonTools([stock])
    with (
        serving(*answers(form, streamed=streamed)) as server,
        use_cassette(tmp_path / "run.yaml", mode="record") as session,
        HttpEndpoint(
            server.url, api_key_env="MY_KEY", environ=KEY, transport=session.transport()
        ) as endpoint,
        FileJournal(tmp_path / "run.journal.jsonl", plan) as journal,
    ):
        recorded = run(plan, Ports(endpoint, tools), journal=journal)
        check(server.seen, form)
    assert KEY["MY_KEY"] not in (tmp_path / "run.yaml").read_text()
    replayed = replay(tmp_path / "run.yaml")
    assert replayed.run.outcome == recorded.outcome == Completed("There are 3.")
