from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.adapters.tools.processes import gone
from tests.patience import HANG, eventually
from toolreel.tools import BoundedProcess, ProcessOutput, ProcessResult, inherited_environment

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux says which process started which"
)


def process(program: str, *args: str, cwd: Path, limit: int = 1000) -> BoundedProcess:
    command = (sys.executable, "-S", "-E", "-c", program, *args)
    return BoundedProcess(command, inherited_environment(["PATH"]), limit, cwd=cwd)


def ran(
    tmp_path: Path, program: str, *args: str, deadline: float = HANG, given: bytes = b""
) -> ProcessResult:
    return process(program, *args, cwd=tmp_path).run(given, deadline=deadline)


def test_what_is_written_and_how_it_ended_is_told(tmp_path: Path) -> None:
    program = (
        "import os, sys; print(os.getcwd(), repr(sys.stdin.read())); os.write(2, b'err\\n'); sys.exit(7)"
    )
    ended = ran(tmp_path, program)
    assert (ended.exit_code, ended.stderr) == (7, ProcessOutput(b"err\n", 4))
    assert ended.stdout.text == f"{tmp_path} ''\n"  # it has no input


def test_it_reads_what_it_is_given(tmp_path: Path) -> None:
    given = b"x" * 500_000  # more than a pipe holds
    assert ran(tmp_path, "import sys; print(len(sys.stdin.read()))", given=given).stdout.text == "500000\n"
    assert ran(tmp_path, "print('not read')", given=given).stdout.text == "not read\n"


def test_output_is_kept_up_to_its_limit_and_all_of_it_is_read(tmp_path: Path) -> None:
    ended = ran(
        tmp_path, "import os; [os.write(1, b'x' * 65536) for _ in range(640)]; os.write(2, b'a\\xff')"
    )
    assert (ended.exit_code, ended.stderr) == (0, ProcessOutput(b"a\xff", 2))
    assert ended.stderr.text == "a\ufffd"
    assert ended.stdout == ProcessOutput(b"x" * 1000, 640 * 65536)


@pytest.mark.parametrize("own_session", [False, pytest.param(True, marks=needs_linux)])
def test_at_its_deadline_it_is_ended_with_all_that_it_has_started(tmp_path: Path, own_session: bool) -> None:
    program = (
        "import os, signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"child = subprocess.Popen(['sleep', '900'], start_new_session={own_session}); "
        "print(os.getpid(), child.pid, flush=True); time.sleep(900)"
    )
    began = time.monotonic()
    ended = ran(tmp_path, program, deadline=2)
    assert time.monotonic() - began < HANG
    assert ended.exit_code is None
    assert all(gone(int(pid)) for pid in ended.stdout.text.split())


def test_what_it_leaves_running_ends_with_it_and_holds_nobody_up(tmp_path: Path) -> None:
    began = time.monotonic()
    ended = ran(tmp_path, "import subprocess; print(subprocess.Popen(['sleep', '900']).pid)")
    assert ended.exit_code == 0
    assert gone(int(ended.stdout.text))
    assert time.monotonic() - began < HANG


def test_what_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BoundedProcess(["nowhere-to-be-found"], {}, 1).run()
    with pytest.raises(ValueError, match="null byte"):
        ran(tmp_path, "pass", "a\0b")


def test_it_ends_when_whoever_waits_for_it_does(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(900)"
    program = f"""
import sys, time
from pathlib import Path
from threading import Thread
from toolreel.tools import BoundedProcess
hanging = BoundedProcess([sys.executable, "-c", {script!r}], {{}}, 10)
Thread(target=hanging.run, daemon=True).start()
while not (Path({str(pid)!r}).exists() and Path({str(pid)!r}).read_text()):
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=HANG, check=False)
    assert done.returncode == 0
    # The system kills it when its parent ends, which nobody waits for.
    eventually(lambda: gone(int(pid.read_text())), "the process has ended")
    assert os.getpid() != int(pid.read_text())
