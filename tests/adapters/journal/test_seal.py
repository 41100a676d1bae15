"""The seal of a journal: no damage to a file that was closed makes it another run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.adapters.journal.test_file import whole
from tests.samples import complaint
from toolreel._driver import Ports, run
from toolreel._internal import JournalError
from toolreel._journal import (
    ROOM,
    FileJournal,
    ReopenedJournal,
    parse_journal,
    part_path,
    read_journal,
    remove_seal,
    seal_text,
)
from toolreel._replay import replay
from toolreel.testing import ScriptedEndpoint
from toolreel.tools import PythonTools
from toolreel_core._jsontext import digest

CASSETTES = Path(__file__).parents[3] / "cassettes"
RECORDED = [
    remove_seal(text, str(path))
    for path in sorted(CASSETTES.rglob("*.journal.jsonl"))
    if len(text := path.read_text("utf-8")) < 40_000 and '"took":' not in text
]
"""Journals of real runs, without their seals; none of them has times, which are no part of the text."""


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """The text of a recorded journal, and its sealed file with one damage."""
    text = draw(st.sampled_from(RECORDED))
    whole = seal_text(text)
    lines = whole.splitlines(keepends=True)
    at = draw(st.integers(0, len(whole) - 1))
    one, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
    match draw(st.sampled_from(["bit", "byte", "cut", "swap", "delete", "repeat"])):
        case "bit":
            return text, whole[:at] + bytes([whole[at] ^ 1 << draw(st.integers(0, 7))]) + whole[at + 1 :]
        case "byte":
            return text, whole[:at] + draw(st.sampled_from([b"0", b"7", b"a", b"z"])) + whole[at + 1 :]
        case "cut":
            return text, whole[:at] + whole[at + draw(st.integers(1, 40)) :]
        case "swap":
            lines[one], lines[other] = lines[other], lines[one]
        case "delete":
            del lines[one]
        case _:
            lines.insert(other, lines[one])
    return text, b"".join(lines)


@given(damaged())
@example((RECORDED[0], seal_text(RECORDED[0]).replace(b"a", b"b", 1)))
def test_no_damage_makes_a_journal_that_was_closed_another_run(case: tuple[str, bytes]) -> None:
    text, content = case
    try:
        found = parse_journal(content.decode()).text
    except (JournalError, UnicodeDecodeError):
        return
    assert found == text


def test_the_last_line_of_a_closed_journal_is_the_seal_of_those_before_it(tmp_path: Path) -> None:
    path = tmp_path / "sum.journal.jsonl"
    with FileJournal(path, PLAN) as journal:
        run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    *lines, _ = path.read_text("utf-8").splitlines(keepends=True)
    assert path.read_bytes() == seal_text("".join(lines)), "the seal is of all that is there, with the times"
    recorded = read_journal(path)
    assert recorded.text == whole()
    assert recorded.digest == digest(whole())
    assert replay(path).recorded == recorded


@pytest.mark.parametrize("text", RECORDED)
@pytest.mark.parametrize("ending", [b"", ROOM, b"no line end"])
def test_a_seal_is_taken_off_and_put_on_again(text: str, ending: bytes, tmp_path: Path) -> None:
    path, whole = tmp_path / "kept.journal.jsonl", seal_text(text)
    # A process may be killed between two of the steps in which a journal is closed or reopened.
    part_path(path).write_bytes(whole[:-1] if ending == b"no line end" else whole + ending)
    with ReopenedJournal(path) as journal:
        assert journal.recorded.text == text
        assert journal.cut is None
        assert part_path(path).read_bytes() == text.encode() + ROOM
    assert path.read_bytes() == whole
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("written", [10, 1_022, 1_023, 1_024, 3_000])
def test_a_line_that_a_kill_cut_within_the_room_or_beyond_is_not_taken_for_a_line(
    written: int, tmp_path: Path
) -> None:
    path, line = tmp_path / "cut.journal.jsonl", b'{"n":1,"event":{"content":"' + b"y" * 4_000
    part_path(path).write_bytes(RECORDED[0].encode() + line[:written] + ROOM[written:])
    with ReopenedJournal(path) as journal:
        assert journal.cut is not None
        assert journal.cut.read_bytes() == line[:written] + b"\n"
    assert read_journal(path).text == RECORDED[0]


def test_a_journal_that_does_not_fit_its_seal_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "kept.journal.jsonl"
    lines = seal_text(RECORDED[0]).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    told = (
        f"{path}, line {len(lines) - 1}: the lines before this seal are not those that were recorded; "
        "restore the file or record it again (if the change is meant, delete this line)"
    )
    assert complaint(JournalError, lambda: read_journal(path)) == told
    assert complaint(JournalError, lambda: ReopenedJournal(path)) == told
    assert path.read_bytes() == b"".join([*lines[:-2], lines[-1]])
