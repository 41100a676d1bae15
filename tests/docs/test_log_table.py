"""The table of loggers says what the code logs."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docs.log_table import OTHERS, rows
from tests.docs.snippets import ROOT
from tests.servers.chat_server import replying, serving
from tests.servers.proxy_server import proxying
from toolreel import Plan, Ports, PythonTools, run, tool
from toolreel._driver import InstantClock
from toolreel.proxy import ProxySettings, Route
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying


def calls() -> Iterator[tuple[str, str, str]]:
    """Each record that is logged by name: its concern, its level if the code has it as a word, its event."""
    for path in (ROOT / "adapters").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Name("log"), [ast.Constant(concern), level, ast.Constant(event), *_]):
                    yield (
                        str(concern),
                        str(level.value) if isinstance(level, ast.Constant) else "",
                        str(event),
                    )
                case _:
                    pass


def test_every_record_that_is_no_note_is_in_the_table_and_no_other() -> None:
    listed = {(concern, event) for concern, _, event, _ in OTHERS}
    found = {(concern, event) for concern, _, event in calls()}
    assert found | {("tools", "error"), ("proxy", "error")} == listed
    for concern, level, event in calls():
        assert not level or (concern, level, event) in {row[:3] for row in OTHERS}


# Records of real runs have the fields that docs/observe.md lists, and no others.


OF_ANY_RUN = frozenset({"run", "ref", "replayed"})
OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
LISTED = {(logger, event): frozenset(fields) for logger, _, event, fields in rows()}
"""The fields of each record, by its logger and event."""


def look(part: str) -> str:
    """Look for a part."""
    return f"{part}: 4"


def pay(part: str) -> str:
    """Pay for a part."""
    return f"{part}: paid"


def unlisted(records: list[logging.LogRecord]) -> set[tuple[str, str, str]]:
    """Fields that the page does not list, with their logger and event."""
    found = set[tuple[str, str, str]]()
    for record in records:
        if not record.name.startswith("toolreel."):
            continue
        logger, event = record.name.removeprefix("toolreel."), str(vars(record)["event"])
        fields = {*vars(record)} - OWN - OF_ANY_RUN - {"event"} - LISTED[logger, event]
        found |= {(logger, event, field) for field in fields}
    return found


@pytest.fixture(autouse=True)
def all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolreel")


def test_of_a_run_with_faults(caplog: pytest.LogCaptureFixture) -> None:
    tools = PythonTools([look, tool(needs_approval=True)(pay)])
    script: list[Any] = [
        calling(("look", {"part": 7})),
        Lost("timeout", "gone"),
        calling(("look", {"part": "a"}), ("nothing", {})),
        saying("<tool_call>{"),
        calling(("pay", {"part": "a"})),
    ]
    plan = Plan.of(model="m", messages="How many?", tools=tools.surface)
    run(plan, Ports(ScriptedEndpoint(script), tools, clock=InstantClock()))
    told = {str(vars(record).get("event")) for record in caplog.records}
    assert {"run_began", "call_rejected", "retry_planned", "call_started", "approval_asked"} <= told
    assert unlisted(caplog.records) == set()


def test_of_a_proxy_that_records(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi!"}]}
    with serving(replying(saying("Hi."))) as server:
        settings = ProxySettings((Route(server.url),), folder=tmp_path)
        with proxying(settings) as proxy:
            httpx.post(f"{proxy.url}/chat/completions", json=body)
            httpx.post(f"{proxy.url}/nothing", json=body)
    answered = [vars(record) for record in caplog.records if vars(record).get("event") == "request_answered"]
    assert ["conversation" in each for each in answered] == [True, False]
    assert unlisted(caplog.records) == set()
