"""Ctrl-C while the server holds its reply back: what had happened is kept, and replays."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, LOOKING_UP, WORKSPACE, Said, environment, run_at, said_by_each
from tests.patience import HANG, NEVER, eventually
from tests.servers.chat_server import Answer, chunk, replying, serving, streaming
from toolreel._replay import DRIVERS


def interrupted(
    arguments: tuple[str, ...],
    cwd: Path,
    when: Callable[[], bool],
    env: Mapping[str, str] | None = None,
    *,
    typed: tuple[str, str] = ("", ""),
) -> Said:
    """What a command says to a SIGINT that comes when a condition holds and the command waits for something.

    Python notes a signal that comes just before a blocking call and handles it after the call. Such an
    interrupt has the same result, but only when the server's 60 s are over; so the command has to be asleep.

    :param typed: what it reads before and after the interrupt
    """
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        process.stdin.write(typed[0])
        process.stdin.flush()
        eventually(lambda: when() or process.poll() is not None, "the moment to interrupt it")
        eventually(lambda: asleep(process.pid) or process.poll() is not None, "the command asleep")
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(typed[1], timeout=HANG)
    return Said(process.returncode, stdout, stderr)


def asleep(pid: int) -> bool:
    """Whether a process waits for something, by Linux's word for it; taken for granted elsewhere."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or ") S " in stat.read_text()


def assert_cancelled(said: Said) -> None:
    assert said.code == 130
    assert "Traceback" not in said.stderr
    assert "outcome     cancelled: interrupted from the keyboard" in said.stdout


def test_an_interrupted_run_ends_cancelled_and_is_kept_and_replays(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), Answer(delay=NEVER)) as server:
        base = (*run_at(server, "Which status?"), *WORKSPACE)
        said = interrupted((*base, "--record", "kept"), tmp_path, lambda: len(server.seen) == 2)
    assert_cancelled(said)
    assert "error: interrupted from the keyboard" in said.stderr
    assert '            ← {"path":"/release/status","value":"draft","version":7}' in said.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.journal.jsonl", "kept.yaml"]

    shown = [line for line in said.stdout.splitlines() if not line.startswith(("saved", "            next:"))]
    for again in said_by_each((("replay", "kept", "--driver", each) for each in DRIVERS), tmp_path):
        assert (again.code, again.stderr) == (0, "")
        assert again.stdout.splitlines()[:-1] == shown
        assert "identical on" in again.stdout


@pytest.mark.parametrize("answer", [Answer(delay=NEVER), streaming(chunk("It is"), NEVER)])
def test_a_run_that_is_interrupted_before_its_first_reply_is_whole_keeps_its_journal(
    answer: Answer, tmp_path: Path
) -> None:
    (tmp_path / "kept.yaml").write_text("of an earlier run")
    with serving(answer) as server:
        base = (*run_at(server), "--set=stream=final", "--record", "kept", "--overwrite")
        assert_cancelled(interrupted(base, tmp_path, lambda: len(server.seen) == 1))
    assert [path.name for path in tmp_path.iterdir()] == ["kept.journal.jsonl"]
    assert "It is" not in (tmp_path / "kept.journal.jsonl").read_text()
    (again,) = said_by_each([("replay", "kept")], tmp_path)
    assert again.code == 0
    assert "outcome     cancelled: interrupted from the keyboard" in again.stdout


SOCKETS = Path("/proc/net/tcp")
FORGETFUL = {"PYTHONWARNINGS": "error,ignore::ResourceWarning"}
"""``socket.create_connection`` closes its socket on an ``OSError``, and not on Ctrl-C."""


def connecting(port: int) -> bool:
    """Whether somebody is waiting to be let in at this port, in the state SYN_SENT."""
    return f":{port:04X} 02 " in SOCKETS.read_text()


@pytest.mark.skipif(not SOCKETS.exists(), reason="only Linux tells when a connection is under way")
def test_a_run_is_interrupted_while_it_still_connects(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):  # the backlog is full: the next one hangs
            base = ("run", "hi", "--model", "m", "--base-url", f"http://127.0.0.1:{port}")
            said = interrupted((*base, "--record", "kept"), tmp_path, lambda: connecting(port), FORGETFUL)
    assert_cancelled(said)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.journal.jsonl"]
