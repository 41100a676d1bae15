"""``toolreel chat`` against a real server: in a pipe, on a terminal, interrupted, recorded, continued."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.cli.commands import (
    LOOKING_UP,
    READY,
    WORKSPACE,
    assert_mistake,
    attended,
    said_by_each,
    toolreel,
)
from tests.cli.test_interrupt import asleep, interrupted
from tests.patience import NEVER, eventually
from tests.servers.chat_server import Answer, ChatServer, chunk, replying, serving, streaming
from toolreel._journal import read_journal
from toolreel._replay import DRIVERS, retrace
from toolreel.testing import saying

CTRL_C = b"\x03"
TALK = b"Which status?\n\nThanks!\n"


def chatting(server: ChatServer, *options: str) -> tuple[str, ...]:
    return ("chat", "--model", "m", "--base-url", server.url, *WORKSPACE, *options)


def bodies(server: ChatServer) -> list[list[str]]:
    """The roles of the messages of each request."""
    return [[one["role"] for one in json.loads(seen.body)["messages"]] for seen in server.seen]


def test_each_line_of_a_pipe_is_a_message_and_each_answer_is_printed(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), replying(READY), replying(saying("You are welcome."))) as server:
        options = ("--system", "Be brief.", "--record", "kept/talk")
        said = toolreel(*chatting(server, *options), cwd=tmp_path, stdin=TALK)
    assert (said.code, said.stdout) == (0, "It is a draft.\nYou are welcome.\n")
    assert bodies(server)[-1] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "saved       kept/talk.yaml" in said.stderr.splitlines()
    assert len(re.findall(r"^\d.* m?s.*, cost so far unknown$", said.stderr, re.MULTILINE)) == 2
    for again in said_by_each((("replay", "kept/talk", "--driver", each) for each in DRIVERS), tmp_path):
        assert (again.code, again.stderr) == (0, "")
        lines = again.stdout.splitlines()
        assert lines.index("answer      It is a draft.") < lines.index("user        Thanks!")
        assert lines.index("user        Thanks!") < lines.index("answer      You are welcome.")
        assert "identical on" in again.stdout
    checked = toolreel("cassettes", "check", "kept", cwd=tmp_path)
    assert (checked.code, checked.stderr) == (0, ""), checked


def test_a_recorded_conversation_goes_on_in_the_same_files(tmp_path: Path) -> None:
    with serving(
        replying(LOOKING_UP), replying(READY), replying(saying("Yes.")), replying(saying("Bye."))
    ) as server:
        toolreel(*chatting(server, "--record", "talk"), cwd=tmp_path, stdin=b"Which status?\n")
        more = ("chat", "--base-url", server.url, *WORKSPACE, "--record", "talk", "--continue")
        said = toolreel(*more, cwd=tmp_path, stdin=b"Really?\n")
        assert (said.code, said.stdout) == (0, "Yes.\n"), said
        resumed = toolreel(*more, cwd=tmp_path, stdin=b"Bye!\n")
    assert (resumed.code, resumed.stdout) == (0, "Bye.\n"), resumed
    assert bodies(server)[-1] == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["talk.journal.jsonl", "talk.yaml"]
    assert toolreel("replay", "talk", cwd=tmp_path).code == 0


def test_a_message_without_an_answer_is_told_and_the_conversation_goes_on(tmp_path: Path) -> None:
    refusal = replying({"error": {"message": "no such thing"}}, 400)
    with serving(refusal, replying(saying("Hello."))) as server:
        said = toolreel(*chatting(server, "--record", "talk"), cwd=tmp_path, stdin=b"Hi.\nAgain.\n")
    assert (said.code, said.stdout) == (1, "Hello.\n")
    assert "no such thing" in said.stderr
    assert bodies(server)[-1] == ["user", "user"]
    again = toolreel("replay", "talk", cwd=tmp_path)
    assert again.code == 0, again
    assert "ended as transport" in again.stdout


def test_the_budget_of_the_conversation_ends_it(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server:
        limit = ("--set", "max_conversation_turns=1")
        said = toolreel(*chatting(server, *limit), cwd=tmp_path, stdin=b"Hi.\nAgain.\nAnd again.\n")
    assert (said.code, said.stdout) == (1, "Hello.\n")
    assert said.stderr.count("the conversation has used up its turns: 1 of 1") == 1
    assert len(server.seen) == 1


def test_ctrl_c_cancels_the_exchange_and_the_conversation_goes_on(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), Answer(delay=NEVER), replying(saying("Fine."))) as server:
        typed = ("Which status?\n", "How are you?\n")
        command = chatting(server, "--record", "talk")
        said = interrupted(command, tmp_path, lambda: len(server.seen) == 2, typed=typed)
    assert (said.code, said.stdout) == (0, "Fine.\n"), said
    assert "cancelled; say something else" in said.stderr
    assert bodies(server)[-1] == ["user", "assistant", "tool", "user"]
    events = [record.kind for record in read_journal(tmp_path / "talk.journal.jsonl").records]
    assert events == ["send_request", "run_tool", "cancel_requested", "user_spoke", "send_request"]
    for again in said_by_each((("replay", "talk", "--driver", each) for each in DRIVERS), tmp_path):
        assert (again.code, again.stderr) == (0, ""), again


def test_on_a_terminal_the_user_is_prompted_and_ctrl_d_ends(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), replying(READY)) as server:
        typed = (CTRL_C, b"Which status?\n", b"\x04")
        code, shown = typing(chatting(server, "--record", "talk"), tmp_path, typed)
    assert code == 0, shown
    assert "Ctrl-D ends the conversation" in shown
    assert "It is a draft." in shown
    assert retrace(read_journal(tmp_path / "talk.journal.jsonl")).run.completed


def test_the_terminal_keeps_what_was_said_before(tmp_path: Path) -> None:
    pieces = streaming(chunk("Streamed "), 0.3, chunk("text.", "stop"))
    thought = streaming(chunk("<think>Hm.</think>"), chunk("No.", "stop"))
    answers = (replying(LOOKING_UP), replying(READY), pieces, thought, replying(saying("You are welcome.")))
    with serving(*(replace(each, delay=0.3) for each in answers)) as server:
        typed = (b"Which status?\n", b"Really?\n", b"Sure?\n", b"Thanks!\n", b"\x04")
        code, written = typing(chatting(server), tmp_path, typed)
    lines = screen(written)
    spoken = [line for line in lines if not re.match(r"\d|turn ", line)]
    assert code == 0
    assert spoken == [
        "/help lists the commands, Ctrl-D ends the conversation",
        "you> Which status?",
        "model       It is a draft.",
        "you> Really?",
        "Streamed text.",
        "you> Sure?",
        "<think>Hm.</think>No.",
        "model       No.",
        "you> Thanks!",
        "model       You are welcome.",
        "you> ",
    ], lines


def test_a_line_that_begins_with_a_slash_is_a_command(tmp_path: Path) -> None:
    with serving(replying(saying("One.")), replying(saying("Two."))) as server:
        typed = (b"/help\n", b"  /help me\n", b"/hlep\n", b"//help\n", b"/etc/hosts says?\n", b"/exit\n")
        code, written = typing(chatting(server, "--record", "talk"), tmp_path, typed)
    lines = screen(written)
    assert code == 0
    assert lines.count("/exit       end the conversation, as Ctrl-D does") == 2
    unknown = lines.index("error: there is no command /hlep")
    assert lines[unknown + 1] == "  /help lists them; //hlep sends it as a message"
    sent = [json.loads(seen.body)["messages"][-1]["content"] for seen in server.seen]
    assert sent == ["/help", "/etc/hosts says?"]
    assert retrace(read_journal(tmp_path / "talk.journal.jsonl")).run.completed


def screen(written: str) -> list[str]:
    """The lines that a terminal shows, by the controls that the command and readline use."""
    lines, row, column = [""], 0, 0
    for control, text in re.findall(r"(\x1b\[[0-9;?]*[A-Za-z]|[\r\n\x07])|([^\x1b\r\n\x07]+)", written):
        match control[:1], control[-1:]:
            case "", _:
                lines[row] = f"{lines[row]:<{column}}"[:column] + text + lines[row][column + len(text) :]
                column += len(text)
            case "\n", _:
                row, column = row + 1, 0
                lines += [""] * (row == len(lines))
            case "\r", _:
                column = 0
            case _, "A":
                row = max(0, row - int(control[2:-1]))
            case _, "K":
                lines[row] = "" if control[2:-1] == "2" else lines[row][:column]
            case _:
                pass
    return [line for line in lines if line.strip()]


def typing(arguments: Sequence[str], cwd: Path, typed: Sequence[bytes]) -> tuple[int, str]:
    """A command on a terminal where somebody types at each prompt: its exit code, and what it wrote."""
    waiting = list(typed)

    def react(written: bytes, process: subprocess.Popen[bytes], keyboard: int) -> None:
        if waiting and written.count(b"you> ") > len(typed) - len(waiting):
            keys = waiting.pop(0)
            if keys == CTRL_C:
                # A signal just before readline waits is handled only after the next line.
                eventually(lambda: asleep(process.pid), "the command asleep")
                process.send_signal(signal.SIGINT)
            else:
                os.write(keyboard, keys)

    return attended(arguments, cwd, react)


def test_mistakes_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "taken.yaml").write_text("")
    with serving() as server:
        base = ("chat", "--base-url", server.url)
        assert_mistake(toolreel(*base, cwd=tmp_path), "Missing option '--model'")
        assert_mistake(toolreel(*base, "--continue", cwd=tmp_path), "--continue goes on with a recording")
        taken = toolreel(*base, "--model", "m", "--record", "taken", cwd=tmp_path, stdin=b"Hi.\n")
        assert_mistake(taken, "taken.yaml exists already")
        gone = toolreel(*base, "--record", "gone", "--continue", cwd=tmp_path, stdin=b"Hi.\n")
        assert_mistake(gone, "there is no such journal")
        other = toolreel(*base, "--model", "m", cwd=tmp_path, stdin=b"\xff\n")
        assert_mistake(other, "stdin, line 1: not UTF-8 at byte 0")
    assert server.seen == []
