from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.driver.test_sync import PLAN
from tests.adapters.journal.test_file import whole
from tests.samples import complaint, worked
from toolreel._internal import JournalError, SecretFound
from toolreel._journal import FileJournal, MemoryJournal, parse_journal, read_journal
from toolreel_core._jsontext import canonical
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CODEC_VERSION,
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    SendRequest,
)

KEY = "sk-" + "Zx81" * 8
HELLO = ReplyReceived(1, 200, '{"choices":[]}')
WHOLE = whole()


def wanted(plan: Plan) -> SendRequest:
    (effect,) = start(plan).effects
    assert isinstance(effect, SendRequest)
    return effect


@pytest.mark.parametrize(
    "event",
    [
        ReplyReceived(1, 200, ""),
        ReplyReceived(1, 200, '\u2028\u2029\x85 \x1c\x0b\x0c \r\n é🙂 "\\'),
        RequestFailed(1, "status", "HTTP 500: \u2028", 500, "<html>\r\n"),
        RequestFailed(1, "connect", "refused"),
        CancelRequested("enough"),
    ],
)
def test_every_event_is_read_back_whatever_its_texts_hold(event: Event, tmp_path: Path) -> None:
    plan = Plan.of(model="m", messages="line\u2028separator")
    with FileJournal(tmp_path / "j.jsonl", plan) as journal:
        journal.record(wanted(plan), event)
    recorded = read_journal(tmp_path / "j.jsonl")
    assert recorded.plan == plan
    assert recorded.events == (event,)


def test_an_event_that_answers_nothing_has_no_fingerprint() -> None:
    journal = MemoryJournal(PLAN)
    journal.record(wanted(PLAN), CancelRequested("enough"))
    journal.record(None, CancelRequested())
    records = parse_journal(journal.text).records
    assert [(record.kind, record.fp) for record in records] == [("cancel_requested", None)] * 2


def test_a_file_gets_its_name_when_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "run.journal.jsonl"
    part = path.with_name("run.journal.jsonl.part")
    with FileJournal(path, PLAN) as journal:
        assert read_journal(part).events == ()
        journal.record(wanted(PLAN), HELLO)
        assert read_journal(part).events == (HELLO,), "an event is on disk before the run goes on"
        assert not path.exists()
    assert not part.exists()
    assert read_journal(path).events == (HELLO,)
    journal.close()
    assert read_journal(path).events == (HELLO,)


@pytest.mark.parametrize(("name", "why"), worked("a file that is there", "runs-and-plans"))
def test_a_file_is_not_overwritten_unless_asked(name: str, why: str, tmp_path: Path) -> None:
    path, there = tmp_path / "j.jsonl", tmp_path / name
    there.write_text("mine")
    assert complaint(JournalError, lambda: FileJournal(path, PLAN)) == f"{there} {why}"
    assert there.read_text() == "mine"
    with FileJournal(path, PLAN, overwrite=True):
        assert there != path or path.read_text() == "mine", "the old file stays until the new one is whole"
    assert read_journal(path).plan == PLAN


def test_a_file_that_cannot_be_written_is_the_journals_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "j.jsonl"
    assert complaint(JournalError, lambda: FileJournal(below, PLAN)) == (
        f"{below}: cannot be written: {os.strerror(17)}"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    journal = FileJournal(folder, PLAN, overwrite=True)
    assert complaint(JournalError, journal.close) == f"{folder}: cannot be written: {os.strerror(21)}"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_the_journals_error(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.with_name("j.jsonl.part").symlink_to("/dev/full")
    told = f"{path}: cannot be written: {os.strerror(28)}"
    assert complaint(JournalError, lambda: FileJournal(path, PLAN, overwrite=True)) == told
    assert [*tmp_path.iterdir()] == []


def test_an_event_that_holds_a_secret_is_not_written(tmp_path: Path) -> None:
    for secret, kind in ((KEY, "API key"), ("correct horse", "value of DB_PASSWORD")):
        path = tmp_path / f"{kind}.jsonl"
        with FileJournal(path, PLAN, known_secrets={"DB_PASSWORD": "correct horse"}) as journal:
            journal.record(wanted(PLAN), HELLO)
            told = complaint(SecretFound, lambda: journal.record(None, CancelRequested(f"<{secret}>")))  # noqa: B023
            assert told == (
                f"{path}, line 3: not written, it holds {kind} at event.reason; "
                "keep secrets out of prompts and tool results"
            )
            again = complaint(SecretFound, lambda: journal.record(None, CancelRequested()))
            assert again == told, "what comes after an event that is missing is not written either"
        (file,) = tmp_path.glob(f"{kind}*")
        assert secret not in file.read_text("utf-8")
        assert read_journal(file).events == (HELLO,)


def edited(change: Callable[[list[str]], list[str]]) -> str:
    return "".join(line + "\n" for line in change(WHOLE.splitlines()))


def replacing(line: int, old: str, new: str) -> str:
    def change(lines: list[str]) -> list[str]:
        assert old in lines[line]
        lines[line] = lines[line].replace(old, new, 1)
        return lines

    return edited(change)


CUT = "j: the last line is cut; go on with the run (toolreel resume), or record it again"
KEYS = "j, line 3: expected the keys n, kind, fp and event"
NO_HEADER = "j, line 1: not the header of a journal; record one with `toolreel run --record`"
UNDER = "stands under the kind"

DAMAGED: dict[str, tuple[str, str]] = {
    "empty": ("", "j: the journal is empty; record it again"),
    **{f"cut by {cut}": (WHOLE[:-cut], CUT) for cut in (1, 2, 40)},
    "without a line": (
        edited(lambda lines: [lines[0], *lines[2:]]),
        "j, line 2: record 2 stands where 1 is expected; a line is missing",
    ),
    "no object": ("[]\n", "j, line 1: not a line of a journal: no object"),
    "no header": ("{}\n", NO_HEADER),
    **{
        f"version {found}": (
            replacing(0, f'"toolreel_journal":{CODEC_VERSION}', f'"toolreel_journal":{found}'),
            f"j, line 1: a journal of version {json.loads(found)!r}; this toolreel reads version "
            f"{CODEC_VERSION}: record it again",
        )
        for found in ("2", "true")
    },
    "another plan": (
        replacing(0, "What is 2 + 40?", "What is 2 + 41?"),
        "j, line 1: the plan does not fit its digest; it was edited, record it again",
    ),
    "a number for a model": (
        replacing(0, '"model":"m"', '"model":7'),
        "j, line 1: plan.model: expected str, got 7",
    ),
    "a text for a ref": (
        replacing(2, '"ref":2', '"ref":"2"'),
        'j, line 3: event.ref: expected int, got "2"',
    ),
    "another key": (replacing(2, '"fp":', '"fingerprint":'), KEYS),
    "another kind": (
        replacing(1, '"kind":"send_request"', '"kind":"run_tool"'),
        f"j, line 2: a reply_received {UNDER} 'run_tool'; record it again",
    ),
    "the kind of the event": (
        replacing(2, '"kind":"run_tool"', '"kind":"tool_returned"'),
        f"j, line 3: a tool_returned {UNDER} 'tool_returned'; record it again",
    ),
    "no fingerprint": (
        edited(lambda lines: [*lines[:2], canonical({**json.loads(lines[2]), "fp": None}), *lines[3:]]),
        f"j, line 3: a tool_returned {UNDER} 'run_tool'; record it again",
    ),
}


@pytest.mark.parametrize(("text", "told"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_journal_is_refused_with_its_place(text: str, told: str) -> None:
    assert complaint(JournalError, lambda: parse_journal(text, "j")) == told
