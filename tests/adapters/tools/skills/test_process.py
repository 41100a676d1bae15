"""Scripts as processes: what they are given, what is kept of what they write, and that they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from toolreel.tools.skills._process import Ended, run_process

PATIENCE = 20.0


def ran(
    tmp_path: Path,
    program: str,
    *args: str,
    deadline: float = PATIENCE,
    limit: int = 1000,
    further: Mapping[str, str] | None = None,
) -> Ended:
    command = (sys.executable, "-S", "-E", "-c", program, *args)
    return run_process(command, tmp_path, deadline=deadline, limit=limit, further=further or {})


def alive(pid: int) -> bool:
    """Whether there is such a process that is more than a remnant."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int) -> bool:
    """Whether a process is gone, in a moment at most."""
    end = time.monotonic() + PATIENCE
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def test_what_is_written_and_how_it_ended_is_told(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert ended == Ended(7, "out\n", "err\n", 4, 4)


def test_it_runs_in_its_folder_and_has_no_input(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os, sys; print(os.getcwd(), repr(sys.stdin.read()))")
    assert ended.stdout == f"{tmp_path} ''\n"


def test_it_sees_nothing_of_the_environment_but_where_programs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "correct-horse")
    program = "import os; print(sorted(os.environ), os.environ['HOME'], os.environ['MINE'])"
    ended = ran(tmp_path, program, further={"MINE": "x"})
    assert "correct-horse" not in ended.stdout
    assert ended.stdout.startswith(
        "['HOME', 'LANG', 'MINE', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TEMP', 'TMP', 'TMPDIR'] "
    )
    home, mine = ended.stdout.split()[-2:]
    assert (mine, Path(home).exists(), home != str(Path.home())) == ("x", False, True)


def test_output_is_kept_up_to_its_limit_and_all_of_it_is_read(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os; [os.write(1, b'x' * 65536) for _ in range(640)]; os.write(2, b'done')")
    assert (ended.exit_code, ended.stdout_bytes, ended.stderr) == (0, 640 * 65536, "done")
    assert ended.stdout == "x" * 1000


def test_what_is_not_utf_8_has_a_mark(tmp_path: Path) -> None:
    assert ran(tmp_path, r"import os; os.write(1, b'a\xffb\xc3')").stdout == "a\ufffdb\ufffd"


def test_at_its_deadline_it_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    program = (
        "import os, signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "child = subprocess.Popen(['sleep', '60']); print(os.getpid(), child.pid, flush=True); time.sleep(60)"
    )
    began = time.monotonic()
    ended = ran(tmp_path, program, deadline=0.5)
    assert time.monotonic() - began < PATIENCE
    assert ended.exit_code is None
    assert all(gone(int(pid)) for pid in ended.stdout.split())


def test_what_it_leaves_running_ends_with_it_and_holds_nobody_up(tmp_path: Path) -> None:
    began = time.monotonic()
    ended = ran(tmp_path, "import subprocess; print(subprocess.Popen(['sleep', '60']).pid)")
    assert ended.exit_code == 0
    assert gone(int(ended.stdout))
    assert time.monotonic() - began < PATIENCE


def test_a_flood_ends_at_the_deadline_and_takes_no_memory(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os\nwhile True: os.write(1, b'x' * 65536)", deadline=0.3)
    assert (ended.exit_code, ended.stdout) == (None, "x" * 1000)


def test_a_signal_is_told_as_a_negative_number(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert ended.exit_code == -signal.SIGSEGV


def test_what_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_process(["nowhere-to-be-found"], tmp_path, deadline=1, limit=1, further={})
    with pytest.raises(ValueError, match="null byte"):
        ran(tmp_path, "pass", "a\0b")


def test_it_ends_when_whoever_waits_for_it_does(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    program = f"""
import sys, time
from pathlib import Path
from threading import Thread
from toolreel.tools.skills._process import run_process
command = [sys.executable, "-c", {script!r}]
arguments = dict(deadline=60, limit=10, further={{}})
Thread(target=run_process, args=(command, Path(".")), kwargs=arguments, daemon=True).start()
while not (Path({str(pid)!r}).exists() and Path({str(pid)!r}).read_text()):
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=PATIENCE, check=False)
    assert done.returncode == 0
    assert gone(int(pid.read_text()))
    assert os.getpid() != int(pid.read_text())
