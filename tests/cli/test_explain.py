"""``toolreel explain``: why recorded runs ended as they did, and what happened in a turn."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from click.testing import CliRunner, Result

from tests.cli.commands import assert_mistake, on_terminal, said_by_each, toolreel
from tests.replay.sessions import cassette
from toolreel._cli import explain_command
from toolreel._journal import journal_path, load_recorded_run
from toolreel._replay import NumberedItems, retrace, run_warnings
from toolreel_core._conversation import AssistantMessage, Message, SystemMessage, Transcript, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Request, RequestOptions


def asked(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(explain_command, [str(path), *arguments])


def test_the_rule_is_named_with_its_settings_and_the_event_that_it_judged() -> None:
    result = asked(cassette("empty-final"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "outcome     empty_final: the model ended with neither text nor a call",
        "rule        a reply with neither text nor a call is not an answer",
        "            fix_empty_final = False",
        "decided     upon event 5, turn 3: reply: EMPTY_RESPONSE",
    ]
    assert "            RunSettled: outcome empty_final" in lines
    hint = "ask again for an empty answer with --set fix_empty_final=true; ask again, or try another model"
    assert f"hint        {hint}" in lines
    assert [line.split()[1] for line in lines if line.startswith("turn ")] == ["1", "1", "2", "2", "3"]


def test_warnings_are_those_of_the_page() -> None:
    lines = asked(cassette("tool-error")).stdout.splitlines()
    assert [line for line in lines if line.startswith("warning ")]
    page = run_warnings(retrace(load_recorded_run(cassette("tool-error"))).run)
    for _, words, turns in page:
        where = f" (turn {', '.join(map(str, turns))})" if turns else ""
        assert f"warning     {words}{where}" in lines


def test_a_turn_is_shown_with_what_was_sent_and_what_was_decided() -> None:
    result = asked(cassette("recovered"), "--turn", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("sent        ")
    assert "stored messages" in result.stdout
    assert "CallStarted: " in result.stdout


def test_a_turn_that_the_run_does_not_have_is_a_mistake() -> None:
    result = asked(cassette("empty-final"), "--turn", "9")
    assert result.exit_code == 2
    assert "the run has 3 turns" in result.stderr


HISTORY: tuple[Message, ...] = (SystemMessage("be brief"), UserMessage("one"), AssistantMessage("two"))


def request(*messages: Message, reminder: str = "") -> Request:
    return Request("m", Transcript.of(messages), RequestOptions(canonical({})), reminder)


def test_messages_that_were_changed_left_out_and_added_are_told_apart() -> None:
    changed = request(SystemMessage("be long"), AssistantMessage("two"), reminder="hurry")
    ranges = NumberedItems().sent_ranges(changed, Transcript.of(HISTORY))
    assert [(each.sending, each.length) for each in ranges] == [
        ("changed", 1),
        ("left_out", 1),
        ("same", 1),
        ("added", 1),
    ]


# ``toolreel explain``: two recorded runs, in a pipe and on a terminal.


RECOVERED = cassette("recovered")
EMPTY = cassette("empty-final")


def test_two_runs_are_shown_side_by_side(tmp_path: Path) -> None:
    for path, name in ((RECOVERED, "one"), (EMPTY, "other")):
        shutil.copy(journal_path(path), tmp_path / f"{name}.journal.jsonl")
    said = toolreel("explain", "one", "other.journal.jsonl", cwd=tmp_path)
    assert (said.code, said.stderr) == (1, "")
    lines = said.stdout.splitlines()
    assert lines[:8] == [
        "a           one.journal.jsonl: 6 events, completed",
        "b           other.journal.jsonl: 5 events, empty_final",
        "plan        config.fix_empty_final",
        "            - true",
        "            + false",
        "differs at  event 6, turn 4: one run continues, the other ends",
        '            a reply: The result is that the status of the release has been updated to "ready".',
        "            b no event: the run has ended as empty_final",
    ]
    assert lines[8].split() == ["turn", "a", "b"]
    assert lines[9].startswith('turn 1  → state_get({"path":"/release/status"})')
    assert lines[9].endswith("  the same")
    assert lines[-1] == "outcome     completed | empty_final"


def test_a_run_is_the_same_as_itself_by_any_of_its_names(tmp_path: Path) -> None:
    names = (str(RECOVERED), str(journal_path(RECOVERED)), str(RECOVERED).removesuffix(".yaml"))
    for said in said_by_each([("explain", names[0], name) for name in names[1:]], tmp_path):
        assert (said.code, said.stderr) == (0, "")
        assert said.stdout.splitlines()[2:] == ["same        no difference that the loop acts on"]


def test_on_a_terminal_the_columns_fit_its_width(tmp_path: Path) -> None:
    code, written = on_terminal(
        "explain", str(cassette("workspace")), str(cassette("tool-error")), cwd=tmp_path
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written)
    rows = plain[plain.index("turn  ") :].splitlines()
    assert code == 1
    assert rows[1].startswith("turn 1  → state_get(")
    assert "→ state_patch(" in rows[1]
    assert max(map(len, rows)) <= 80
    assert any("…" in row for row in rows)


def test_a_record_that_is_not_there_or_does_not_fold_is_named(tmp_path: Path) -> None:
    text = journal_path(RECOVERED).read_text()
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
