from __future__ import annotations

import pytest

from tests.adapters.replay.records import ADDING, NEEDS_APPROVAL, SUM, adding, asking_first, recorded
from tests.replay.sessions import cassette
from tests.samples import complaint
from toolreel._driver import Always, Never
from toolreel._internal import CassetteError
from toolreel._journal import (
    MemoryJournal,
    Recorded,
    journal_path,
    load_recorded_run,
    parse_journal,
    read_journal,
)
from toolreel._replay import retrace
from toolreel.testing import Lost, saying
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json
from toolreel_core._protocol import (
    CancelRequested,
    Event,
    ToolReturned,
)

CUT_CALL: Json = {"id": "a", "function": {"name": "add", "arguments": '{"a":'}}


def told(source: Recorded) -> list[str]:
    return [traced.summary for traced in retrace(source).events]


def stopped(reason: str, *late: Event) -> Recorded:
    """A run that was stopped while its first call ran."""
    source = recorded()
    journal = MemoryJournal(ADDING)
    (asked, running, *_), records = retrace(source).events, source.records
    journal.record(asked.effect, records[0].event)
    journal.record(None, CancelRequested(reason))
    for event in late:
        journal.record(running.effect, event)
    return parse_journal(journal.text)


def test_the_events_are_told_one_a_line() -> None:
    assert told(recorded()) == [
        'reply: add({"a":2,"b":40})',
        'add({"a":2,"b":40}) returned 42',
        'reply: add({"a":42,"b":1})',
        'add({"a":42,"b":1}) returned 43',
        "reply: It is 43.",
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            recorded([Lost("timeout", "ReadTimeout"), Lost("status", "HTTP 400: no", 400)]),
            ["no reply: ReadTimeout", "a wait of 713 ms elapsed", "no reply: HTTP 400: no"],
        ),
        (
            recorded(SUM[1:], NEEDS_APPROVAL, tools=asking_first(), approver=Always()),
            [
                'reply: add({"a":42,"b":1})',
                'add({"a":42,"b":1}) approved',
                'add({"a":42,"b":1}) returned 43',
                "reply: It is 43.",
            ],
        ),
        (
            recorded(SUM[1:], NEEDS_APPROVAL, tools=asking_first(), approver=Never()),
            ['reply: add({"a":42,"b":1})', 'add({"a":42,"b":1}) denied', "reply: It is 43."],
        ),
        (recorded([saying("")], adding(fix_empty_final=False)), ["reply: EMPTY_RESPONSE"]),
        (recorded([saying("one\ntwo")]), ["reply: one\\ntwo"]),
        (
            recorded([{"choices": [{"message": {"tool_calls": [CUT_CALL]}}]}, saying("Oh.")]),
            ['reply: add({"a":)', "reply: Oh."],
        ),
        (stopped(""), ['reply: add({"a":2,"b":40})', "cancelled"]),
        (
            stopped("enough", ToolReturned(2, "42")),
            ['reply: add({"a":2,"b":40})', "cancelled: enough", 'add({"a":2,"b":40}) returned 42'],
        ),
    ],
)
def test_whatever_can_happen_to_a_run_has_words(source: Recorded, words: list[str]) -> None:
    assert told(source) == words


def test_an_event_that_answers_something_else_than_it_did_is_a_mismatch() -> None:
    text = recorded().text.replace('"output":"42"', '"output":"41"', 1)
    said = complaint(ReplayMismatch, lambda: retrace(parse_journal(text, "edited")))
    assert said.startswith("edited, line 4: this send_request is not what the run wants there;")


def test_a_record_is_opened_by_its_journal_or_its_cassette() -> None:
    path = cassette("workspace")
    journal = read_journal(journal_path(path))
    name = str(path).removesuffix(".yaml")
    assert [load_recorded_run(each) for each in (journal, path, str(path), name, journal_path(path))] == [
        journal
    ] * 5
    assert "there is no such" in complaint(CassetteError, lambda: load_recorded_run("nothing"))
