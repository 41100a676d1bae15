"""``toolreel explain``: two recorded runs, in a pipe and on a terminal."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from tests.cli.commands import assert_mistake, on_terminal, said_by_each, toolreel
from tests.replay.sessions import cassette
from toolreel._journal import companion

RECOVERED: Final = cassette("recovered")
EMPTY: Final = cassette("empty-final")


def test_two_runs_are_shown_side_by_side(tmp_path: Path) -> None:
    for path, name in ((RECOVERED, "one"), (EMPTY, "other")):
        shutil.copy(companion(path), tmp_path / f"{name}.journal.jsonl")
    said = toolreel("explain", "one", "other.journal.jsonl", cwd=tmp_path)
    assert (said.code, said.stderr) == (1, "")
    lines = said.stdout.splitlines()
    assert lines[:9] == [
        "a           one.journal.jsonl: 6 events, completed",
        "b           other.journal.jsonl: 5 events, empty_final",
        "plan        config.fix_empty_final",
        "            - true",
        "            + false",
        "differs at  event 6, turn 4: one run continues, the other ends",
        '            a reply: The result is that the status of the release has been updated to "ready".',
        "            b no event: the run has ended as empty_final",
        "            ignored differences in events 1, 3, 5: ids, times, token counts",
    ]
    assert lines[9].split() == ["turn", "a", "b"]
    assert lines[10].startswith('turn 1      → state_get({"path":"/release/status"})')
    assert lines[10].endswith("  the same")
    assert lines[-2].startswith("tally       turns 4 | 3, prompt_tokens ")
    assert lines[-1] == "outcome     completed | empty_final"


def test_a_run_is_the_same_as_itself_by_any_of_its_names(tmp_path: Path) -> None:
    names = (str(RECOVERED), str(companion(RECOVERED)), str(RECOVERED).removesuffix(".yaml"))
    shown, machine = said_by_each(
        [("explain", names[0], names[1]), ("explain", names[1], names[2], "--json")], tmp_path
    )
    assert (shown.code, machine.code) == (0, 0)
    assert shown.stdout.splitlines()[2:] == ["same        no difference that the loop acts on"]
    assert machine.data["same"] is True
    assert (machine.data["plan"], machine.data["first"]) == ([], None)


def test_many_changes_are_counted_and_the_first_of_them_shown(tmp_path: Path) -> None:
    settings = [f"--set={key}=9" for key in ("top_k", "top_p", "min_p", "seed", "stop")]
    more = [f"--set=body.x{number}=1" for number in range(12)]
    fork = ("fork", str(cassette("chat")), "--at", "1", "--recorded", "--record", "kept")
    _, said = said_by_each([(*fork, *settings, *more), ("explain", str(cassette("chat")), "kept")], tmp_path)
    assert "            and 5 more places" in said.stdout.splitlines()
    assert "differs at" not in said.stdout


def test_on_a_terminal_the_columns_fit_its_width(tmp_path: Path) -> None:
    code, written = on_terminal(
        "explain", str(cassette("workspace")), str(cassette("tool-error")), cwd=tmp_path
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written)
    rows = plain[plain.index("turn  ") :].splitlines()
    assert code == 1
    assert rows[1].startswith("turn 1      → state_get(")
    assert "→ state_patch(" in rows[1]
    assert max(map(len, rows)) <= 80
    assert any("…" in row for row in rows)


def test_a_record_that_is_not_there_or_does_not_fold_is_named(tmp_path: Path) -> None:
    text = companion(RECOVERED).read_text()
    (tmp_path / "edited.journal.jsonl").write_text(text.replace("draft", "drift"))
    two = ("explain", str(RECOVERED))
    absent, edited, turn = said_by_each(
        [(*two, "no"), (*two, "edited"), (*two, "edited", "--turn", "1")], tmp_path
    )
    assert_mistake(absent, "no: there is no such recording")
    assert_mistake(
        edited, "edited.journal.jsonl, line 4: this send_request is not what the run wants", code=3
    )
    assert_mistake(turn, "--turn shows a turn of one run")
