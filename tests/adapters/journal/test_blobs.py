"""Images, audio and files in journals: each once, in a line before the event that has it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.samples import complaint
from toolreel._internal import JournalError, SecretFound
from toolreel._journal import (
    FileJournal,
    MemoryJournal,
    ReopenedJournal,
    parse_journal,
    part_path,
    read_journal,
    seal_text,
)
from toolreel_core._conversation import Image, Media, Message, Part, blobs_of, user_message
from toolreel_core._jsontext import JsonText
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, RunTool, ToolReturned, UserSpoke, user_spoke_event

CAT = Image.from_bytes(b"\x89PNG\r\n\x1a\n")
DOG = Image.from_bytes(b"GIF89a")
DIGEST = blobs_of([CAT])[0].digest
PLAN = Plan("m", (user_message(["Look:", CAT]),))
CALL = RunTool(2, "call_a", "look", JsonText("{}"))
EVENTS = (
    (CALL, ToolReturned(2, "[]", parts=(DOG, CAT))),
    (None, user_spoke_event(["And?", DOG])),
)


def written(plan: Plan, events: Sequence[tuple[RunTool | None, Event]]) -> str:
    journal = MemoryJournal(plan)
    for effect, event in events:
        journal.record(effect, event)
    return journal.text


def kinds(text: str) -> list[str]:
    trees: list[dict[str, Any]] = [json.loads(line) for line in text.split("\n")[:-1]]
    return [str(tree.get("kind", next(iter(tree)))) for tree in trees]


def test_a_blob_stands_once_before_the_first_event_that_has_it(tmp_path: Path) -> None:
    text = written(PLAN, EVENTS)
    assert kinds(text) == ["toolreel_journal", "blob", "blob", "run_tool", "user_spoke"]
    path = tmp_path / "j.jsonl"
    with FileJournal(path, PLAN) as journal:
        for effect, event in EVENTS:
            journal.record(effect, event)
    assert path.read_bytes() == seal_text(text)
    assert json.loads(path.read_bytes().splitlines()[-1])["end"] == 2
    recorded = read_journal(path)
    assert (recorded.plan, recorded.events) == (PLAN, tuple(event for _, event in EVENTS))
    assert recorded.text == text
    assert [record.n for record in recorded.records] == [1, 2]


@given(
    st.lists(st.lists(strategies.parts, min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.lists(strategies.media, max_size=3), max_size=3),
)
def test_any_mix_of_parts_comes_back_from_a_journal(said: list[list[Part]], given: list[list[Media]]) -> None:
    messages: tuple[Message, ...] = tuple(map(user_message, said))
    plan = Plan("m", messages)
    results = [(CALL, ToolReturned(2, "[]", parts=tuple(parts))) for parts in given]
    spoken: list[tuple[RunTool | None, Event]] = [(None, user_spoke_event(parts)) for parts in said]
    text = written(plan, [*results, *spoken])
    recorded = parse_journal(text)
    assert (recorded.plan, recorded.events) == (plan, tuple(event for _, event in [*results, *spoken]))
    every = [*(part for parts in said for part in parts), *(part for parts in given for part in parts)]
    blobs = {blob.digest for blob in blobs_of(every)}
    assert kinds(text).count("blob") == len(blobs)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"
        with FileJournal(path, plan, known_secrets={}) as journal:
            for effect, event in [*results, *spoken]:
                journal.record(effect, event)
        assert path.read_bytes() == seal_text(text)


def test_a_journal_that_goes_on_knows_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    FileJournal(path, PLAN).close()
    with ReopenedJournal(path) as journal:
        for effect, event in EVENTS:
            journal.record(effect, event)
    with ReopenedJournal(path) as journal:
        journal.record(None, user_spoke_event(["Again", DOG, CAT]))
    text = written(PLAN, (*EVENTS, (None, user_spoke_event(["Again", DOG, CAT]))))
    assert path.read_bytes() == seal_text(text)


@pytest.mark.parametrize("lost", range(1, 60, 7))
def test_a_run_that_was_killed_while_it_wrote_goes_on(lost: int, tmp_path: Path) -> None:
    path, text = tmp_path / "j.jsonl", written(PLAN, EVENTS[:1])
    part_path(path).write_text(text[:-lost], "utf-8")
    with ReopenedJournal(path) as journal:
        assert len(journal.recorded.events) == (lost == 1)  # a line without its end is whole
        if lost > 1:
            journal.record(*EVENTS[0])
    assert path.read_bytes() == seal_text(text)  # the blob of the lost event is not written again


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"R0lGODlh"', '"R0lGODlk"'), "line 3: the bytes do not fit the digest"),
        (('"R0lGODlh"', "1"), "line 3: the bytes do not fit the digest"),
        ((f'{{"blob":"{DIGEST}"', '{"blob":"x"'), "line 2: the bytes do not fit"),
    ],
)
def test_a_damaged_blob_is_an_error(change: tuple[str, str], why: str) -> None:
    text = written(PLAN, EVENTS)
    assert why in complaint(JournalError, lambda: parse_journal(text.replace(*change, 1)))


@pytest.mark.parametrize(("at", "line"), [(1, "line 1"), (2, "line 3")])
def test_a_blob_that_is_missing_is_an_error(at: int, line: str) -> None:
    lines = written(PLAN, EVENTS).splitlines(keepends=True)
    del lines[at]
    why = complaint(JournalError, lambda: parse_journal("".join(lines)))
    assert f"{line}: the bytes of the blob 'sha256:" in why


def test_a_known_key_in_a_blob_is_not_written(tmp_path: Path) -> None:
    key = {"MY_KEY": "3f2a90bc71d4"}
    leaking = Image.from_bytes(b"GIF89a 3f2a90bc71d4")
    with pytest.raises(SecretFound, match=r"line 1: not written, <image/gif, 19 bytes"):
        FileJournal(tmp_path / "a.jsonl", Plan("m", (user_message(leaking),)), known_secrets=key)
    with FileJournal(tmp_path / "b.jsonl", PLAN, known_secrets=key) as journal:
        result = journal.record(CALL, ToolReturned(2, "[]", parts=(leaking,)))
        assert isinstance(result, ToolReturned)
        assert (result.parts, "withheld" in result.output) == ((), True)
        with pytest.raises(SecretFound, match="line 3: not written"):
            journal.record(None, UserSpoke("", None, (leaking,)))
    late = FileJournal(tmp_path / "c.jsonl", Plan("m", (user_message(leaking),)), known_secrets={})
    with pytest.raises(SecretFound):
        late.withhold(key)
    assert "R0lGODlhIDNm" not in "".join(path.read_text("utf-8") for path in tmp_path.iterdir())
