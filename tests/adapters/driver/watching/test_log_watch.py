"""What is logged of a run: by which logger, at which level, with which fields, and never what was said."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from toolreel import LoopConfig, Plan, Ports, PythonTools, go_on, run, tool
from toolreel._driver import CONTENT, LEVELS, Always, InstantClock
from toolreel._internal import CONCERNS
from toolreel._journal import MemoryJournal, parse_journal
from toolreel._replay import Rehearsal
from toolreel.testing import Line, Lost, ScriptedEndpoint, calling, saying
from toolreel_core import ReplayMismatch
from toolreel_core._protocol import Note, notes

WORDS = ("lighthouse", "marigold", "thunder", "walnut")


def look(part: str) -> str:
    """Look."""
    return f"{part} walnut"


TOOLS = PythonTools([look])
PLAN = Plan.of(model="m", messages="lighthouse", tools=TOOLS.surface)
SCRIPT: list[Any] = [
    calling(("look", {"part": 7})),
    Lost("timeout", "thunder"),
    calling(("look", {"part": "thunder"}), text="marigold"),
    saying("marigold"),
]


def ports() -> Ports:
    return Ports(ScriptedEndpoint(SCRIPT), TOOLS, clock=InstantClock())


def facts(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str, Any]]:
    told: list[Any] = caplog.records
    return [(record.name, record.levelname, record.event, getattr(record, "ref", None)) for record in told]


def test_a_run_is_told_by_the_loggers_of_its_concerns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "toolreel"):
        run(PLAN, ports())
    loop, http, tools = "toolreel.loop", "toolreel.http", "toolreel.tools"
    assert facts(caplog) == [
        (loop, "DEBUG", "run_began", None),
        (http, "DEBUG", "request_sent", 1),
        (http, "DEBUG", "reply_read", 1),
        (loop, "INFO", "call_rejected", 1),
        (http, "DEBUG", "request_sent", 2),
        (http, "INFO", "request_lost", 2),
        (http, "INFO", "retry_planned", 2),
        (http, "DEBUG", "request_sent", 4),
        (http, "DEBUG", "reply_read", 4),
        (loop, "INFO", "content_stripped", 4),
        (tools, "DEBUG", "call_started", 5),
        (tools, "DEBUG", "call_ended", 5),
        (http, "DEBUG", "request_sent", 6),
        (http, "DEBUG", "reply_read", 6),
        (loop, "INFO", "run_settled", 6),
    ]
    told: list[Any] = caplog.records
    assert len({record.run for record in told}) == 1
    assert (told[5].turn, told[5].failure) == (2, "timeout")
    assert told[10].tool == "look", "what a note calls name is another thing in a record"
    assert told[10].getMessage().endswith("turn=2 call_id=call_b tool=look provenance=structured")
    everything = "".join(str(vars(record)) for record in told)
    assert [word for word in WORDS if word in everything] == [], "nothing that was said is logged"


def test_a_replay_says_so(caplog: pytest.LogCaptureFixture) -> None:
    journal = MemoryJournal(PLAN)
    run(PLAN, ports(), journal=journal)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "toolreel"):
        Rehearsal(parse_journal(journal.text, "memory")).play(PLAN)
    told: list[Any] = caplog.records
    assert {record.replayed for record in told} == {True}


def test_a_run_that_rests_or_breaks_says_so(caplog: pytest.LogCaptureFixture) -> None:
    asked = PythonTools([tool(needs_approval=True)(look)])
    plan = Plan.of(model="m", messages="lighthouse", tools=asked.surface)
    endpoint = ScriptedEndpoint([calling(("look", {"part": "pin"}))])
    with caplog.at_level(logging.INFO, "toolreel"):
        rested = run(plan, Ports(endpoint, asked))
        with pytest.raises(ReplayMismatch):
            go_on(rested.state, Ports(endpoint, asked, Always()))
    assert facts(caplog) == [
        ("toolreel.loop", "INFO", "approval_asked", 2),
        ("toolreel.loop", "INFO", "run_rests", None),
        ("toolreel.loop", "INFO", "run_broke", None),
    ]
    assert caplog.records[-1].getMessage().endswith("error=ReplayMismatch")


def test_every_note_has_a_logger_and_a_level() -> None:
    assert set(LEVELS) == set(get_args(Note))
    assert {concern for concern, _ in LEVELS.values()} <= set(CONCERNS)


RUN = """
from toolreel import LoopConfig, Plan, Ports, PythonTools, run
from toolreel.testing import Line, Lost, ScriptedEndpoint, calling, saying
def fail(): "Fail."; raise ValueError("out of paper")
tools = PythonTools([fail])
plan = Plan.of(model="m", messages="hi", tools=tools.surface)
run(plan, Ports(ScriptedEndpoint([Lost("timeout", "x"), SCRIPT]), tools))
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_but_the_exceptions_of_its_own_functions() -> None:
    done = python(RUN.replace("SCRIPT", "calling(('fail', {})), saying('Oh.')"))
    assert done.stderr.splitlines()[0] == "tool fail failed, call call_a of turn 1"
    assert done.stderr.splitlines()[-1] == "ValueError: out of paper"
    assert done.stderr.count("ValueError") == 1


LOST = """
from toolreel import LoopConfig, Plan, run
from toolreel.testing import Lost, ScriptedEndpoint
plan = Plan.of(model="m", messages="hi", config=LoopConfig(max_tries=1))
run(plan, ScriptedEndpoint([Lost("connect", "ConnectError: refused")]))
"""
FAILED = (
    "the run did not complete: transport: ConnectError: refused; no server answers: start it, or correct "
    "the base URL"
)


@pytest.mark.parametrize(
    ("configured", "written"),
    [
        ("", FAILED),
        ("import logging; logging.basicConfig(format='%(event)s %(message)s')", f"run_settled {FAILED}"),
        ("import logging; logging.getLogger('toolreel').setLevel('ERROR')", ""),
    ],
)
def test_a_run_that_fails_warns_on_stderr_unless_a_program_configures_it(
    configured: str, written: str
) -> None:
    done = python(f"{configured}\n{LOST}")
    assert (done.stdout, done.stderr.strip()) == ("", written)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"choices": [{"message": {"refusal": "marigold"}}]}, "the run did not complete: refused"),
        ("<html>", "the run did not complete: invalid_reply: the reply could not be used (INVALID_BODY)"),
    ],
)
def test_the_warning_of_a_failed_run_says_nothing_that_the_model_said(
    reply: Line, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = LoopConfig(max_tries=1)
    run(Plan.of(model="m", messages="hi", config=config), ScriptedEndpoint([reply]))
    (warned,) = caplog.records
    assert (warned.levelname, warned.getMessage().startswith(said)) == ("WARNING", True)
    assert "marigold" not in warned.getMessage()


def test_a_run_does_not_load_logging() -> None:
    done = python(RUN.replace("SCRIPT", "saying('Hi.')") + "\nimport sys; print('logging' in sys.modules)")
    assert done.stdout == "False\n"


# Each text of each note is known to be a name or a code, or it is content and shown nowhere.


NAMES = frozenset({
    "after", "before", "call_id", "code", "codes", "digest", "endpoint", "failure", "finish", "key",
    "left_out", "name", "names", "outcome", "policies", "problem", "provenance", "upstream", "why",
})  # fmt: skip
"""Fields that hold a name, a code or a digest."""


@pytest.mark.parametrize("kind", get_args(Note))
def test_every_text_of_a_note_is_a_name_or_content(kind: type) -> None:
    hints = get_type_hints(kind, {**vars(notes)})
    texts = {
        field.name
        for field in fields(kind)
        if "str" in str(hints[field.name]) or "Literal" in str(hints[field.name])
    }
    assert texts <= NAMES | CONTENT, "say in log_watch.py or here what it is"
    there = {field.name for each in get_args(Note) for field in fields(each)}
    assert there >= CONTENT | NAMES
