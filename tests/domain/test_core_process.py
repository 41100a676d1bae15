"""``python -m toolreel_core`` as a host sees it: a process with three pipes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.patience import HANG
from toolreel_core.__main__ import HELP, SCHEMA, main

CORE = [sys.executable, "-m", "toolreel_core"]
needs_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="writes to /dev/full")
START = (
    b'{"toolreel":1,"run":"a","start":{"type":"plan","model":"m","messages":'
    b'[{"type":"user_message","content":"caf\xe9"}]}}\n'
)


def ran(*arguments: str, lines: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*CORE, *arguments], input=lines, capture_output=True, timeout=HANG, check=False)


@contextmanager
def running() -> Generator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes], IO[bytes]]]:
    """The process, and its stdin, stdout and stderr."""
    pipe = subprocess.PIPE
    with subprocess.Popen(CORE, stdin=pipe, stdout=pipe, stderr=pipe) as core:
        assert core.stdin
        assert core.stdout
        assert core.stderr
        yield core, core.stdin, core.stdout, core.stderr
        core.kill()


def test_bytes_that_are_not_utf_8_are_replaced_and_line_ends_may_be_those_of_windows() -> None:
    core = ran(lines=START.replace(b"\n", b"\r\n") + b"\xff\n")
    begun, bad = map(json.loads, core.stdout.splitlines())
    assert json.loads(begun["effects"][0]["request"]["body"])["messages"][0]["content"] == "caf\ufffd"
    assert bad["error"]["field"] == ""
    assert (core.returncode, core.stderr) == (0, b"")


def test_each_line_is_answered_at_once() -> None:
    with running() as (_, stdin, stdout, _):
        for _ in range(2):
            stdin.write(b"{}\n")
            stdin.flush()
            assert b"error" in stdout.readline()


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    with running() as (core, stdin, stdout, stderr):
        stdin.write(START)
        stdin.flush()
        stdout.readline()
        core.send_signal(signal.SIGINT)
        assert core.wait(HANG) == 130
        assert stderr.read() == b""


def test_a_host_that_is_gone_ends_it_quietly() -> None:
    with running() as (core, stdin, stdout, stderr):
        stdout.close()
        stdin.write(START)
        stdin.flush()
        assert core.wait(HANG) == 0
        assert stderr.read() == b""


@pytest.mark.parametrize(
    ("redirection", "why"),
    [
        pytest.param(">/dev/full", b"[Errno 28] No space left on device", marks=needs_full_disk),
        ("<&-", b"needs stdin and stdout"),
        (">&-", b"needs stdin and stdout"),
    ],
)
def test_what_it_cannot_read_or_write_is_one_line(redirection: str, why: bytes) -> None:
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *CORE]
    core = subprocess.run(command, input=b"{}\n", stderr=subprocess.PIPE, timeout=HANG, check=False)
    assert (core.returncode, core.stderr) == (2, b"python -m toolreel_core: " + why + b"\n")


def test_it_explains_itself() -> None:
    assert b'"http_response"' in ran("--help").stdout
    assert ran("-h").stdout == ran("--help").stdout
    assert ran("--schema").stdout == SCHEMA.read_bytes()
    wrong = ran("--schemas")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr == b"python -m toolreel_core: unknown argument '--schemas'; see --help\n"


def test_a_program_may_call_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == HELP
