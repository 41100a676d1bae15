from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Timer
from types import ModuleType

import anyio
import pytest

from tests.adapters.tools import isolated_things as things
from tests.adapters.tools.python.test_host import call, failing, unexpected
from tests.patience import HANG, eventually_async
from tests.samples import complaint
from toolreel.tools._call_context import CurrentCall
from toolreel.tools._isolation import (
    BoundedProcess,
    Crash,
    IsolatedCall,
    Isolation,
    Output,
    ProcessResult,
    inherited_environment,
)
from toolreel.tools._python.host import AsyncPythonTools, PythonTools
from toolreel.tools._python.tool import Tool
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.events import ToolReturned


def process(program: str, *args: str, cwd: Path, limit: int = 1000) -> BoundedProcess:
    command = (sys.executable, "-S", "-E", "-c", program, *args)
    return BoundedProcess(command, inherited_environment(["PATH"]), limit, cwd=cwd)


def ran(
    tmp_path: Path, program: str, *args: str, deadline: float = HANG, given: bytes | None = None
) -> ProcessResult:
    return process(program, *args, cwd=tmp_path).run(given, deadline=deadline)


def alive(pid: int) -> bool:
    """Whether there is such a process that is more than a remnant."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int) -> bool:
    """Whether a process is gone, in a moment at most."""
    end = time.monotonic() + HANG
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def test_what_is_written_and_how_it_ended_is_told(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert ended == ProcessResult(7, Output(b"out\n", 4), Output(b"err\n", 4))


def test_it_runs_in_its_folder_and_has_no_input(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os, sys; print(os.getcwd(), repr(sys.stdin.read()))")
    assert ended.stdout.text == f"{tmp_path} ''\n"


def test_it_reads_what_it_is_given(tmp_path: Path) -> None:
    given = b"x" * 500_000  # more than a pipe holds
    assert ran(tmp_path, "import sys; print(len(sys.stdin.read()))", given=given).stdout.text == "500000\n"
    assert ran(tmp_path, "print('not read')", given=given).stdout.text == "not read\n"


def test_it_sees_no_variables_but_those_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "correct-horse")
    monkeypatch.delenv("NOT_SET", raising=False)
    assert inherited_environment(["NOT_SET", "OPENAI_API_KEY"]) == {"OPENAI_API_KEY": "correct-horse"}
    seen = ran(tmp_path, "import os; print(sorted(os.environ))").stdout.text
    assert "'PATH'" in seen
    assert "OPENAI_API_KEY" not in seen


def test_stderr_can_be_shared(capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", "import sys; print('to all', file=sys.stderr)"]
    assert BoundedProcess(command, {}, 10).run(inherit_stderr=True) == ProcessResult(0, Output(), Output())
    assert capfd.readouterr().err == "to all\n"


def test_output_is_kept_up_to_its_limit_and_all_of_it_is_read(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os; [os.write(1, b'x' * 65536) for _ in range(640)]; os.write(2, b'done')")
    assert (ended.exit_code, ended.stderr) == (0, Output(b"done", 4))
    assert ended.stdout == Output(b"x" * 1000, 640 * 65536)


def test_what_is_not_utf_8_has_a_mark(tmp_path: Path) -> None:
    assert ran(tmp_path, r"import os; os.write(1, b'a\xffb\xc3')").stdout.text == "a\ufffdb\ufffd"


def test_at_its_deadline_it_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    program = (
        "import os, signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "child = subprocess.Popen(['sleep', '900']); print(os.getpid(), child.pid, flush=True); "
        "time.sleep(900)"
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


def test_a_flood_ends_at_the_deadline_and_takes_no_memory(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os\nwhile True: os.write(1, b'x' * 65536)", deadline=0.3)
    assert (ended.exit_code, ended.stdout.kept) == (None, b"x" * 1000)


def test_another_thread_can_kill_it_with_all_that_it_has_started(tmp_path: Path) -> None:
    program = (
        "import subprocess, time; print(subprocess.Popen(['sleep', '900']).pid, flush=True); time.sleep(900)"
    )
    hanging = process(program, cwd=tmp_path)
    Timer(1.0, hanging.kill).start()
    ended = hanging.run()
    assert ended.exit_code is None
    assert gone(int(ended.stdout.text))
    hanging.kill()


def test_one_that_was_killed_before_it_started_never_starts(tmp_path: Path) -> None:
    unstarted = process("open('marker', 'w')", cwd=tmp_path)
    unstarted.kill()
    assert unstarted.run() == ProcessResult(None)
    assert [*tmp_path.iterdir()] == []


def test_a_signal_is_told_as_a_negative_number(tmp_path: Path) -> None:
    ended = ran(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert ended.exit_code == -signal.SIGSEGV


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
from toolreel.tools._isolation import BoundedProcess
hanging = BoundedProcess([sys.executable, "-c", {script!r}], {{}}, 10)
Thread(target=hanging.run, daemon=True).start()
while not (Path({str(pid)!r}).exists() and Path({str(pid)!r}).read_text()):
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=HANG, check=False)
    assert done.returncode == 0
    assert gone(int(pid.read_text()))
    assert os.getpid() != int(pid.read_text())


REMEDY = "Do not repeat the call as it was: try other arguments, or another way."


def apart(function: Callable[..., object], isolated: bool | Isolation = True) -> PythonTools:
    return PythonTools([Tool.of(function, isolated=isolated)])


def died(name: str, why: str) -> ToolReturned:
    return failing("INTERNAL_ERROR", f"{name} did not return: {why}. {REMEDY}")


def test_a_tool_in_a_process_of_its_own_reads_and_returns_like_any_other(
    capfd: pytest.CaptureFixture[str],
) -> None:
    tools = PythonTools([things.later, things.soon, Tool.of(things.Shelf.count, isolated=True)])
    assert tools.run(call("later", day="2026-11-22", days=2)) == ToolReturned(4, '"2026-11-24"')
    assert tools.run(call("soon", day="2026-11-22")) == ToolReturned(4, '"2026-11-22"')
    assert tools.run(call("count", part="pin")) == ToolReturned(4, "3")
    assert "/day: expected a date such as" in tools.run(call("later", day="soon")).output
    assert capfd.readouterr() == ("", "prints go elsewhere\n")


def test_it_knows_its_call_and_gets_plain_json_where_it_has_a_schema_of_its_own() -> None:
    tools = PythonTools([Tool.of(things.which, name="tell.which", isolated=True)])
    told = json.loads(tools.run(replace(call("tell.which"), key="k", turn=3)).output)
    assert told[:4] == ["tell.which", "call_a", "k", 3]
    assert told[4] != os.getpid()
    plain = PythonTools([Tool.of(things.flood, parameters={}, isolated=True)])
    assert plain.run(call("flood", count=2)) == ToolReturned(4, '"xx"')


def test_what_it_raises_is_told_as_ever_and_its_trace_is_kept() -> None:
    seen: list[tuple[CurrentCall, Exception]] = []
    tools = PythonTools(
        [Tool.of(things.refuse, isolated=True), Tool.of(things.crash, isolated=True)],
        on_error=lambda told, error: seen.append((told, error)),
    )
    assert json.loads(tools.run(call("refuse")).output) == {
        "ok": False,
        "data": {"rooms": 0},
        "errors": [{"code": "NO_ROOM", "message": "There is no such room."}],
    }
    assert seen == []
    assert tools.run(call("crash")) == unexpected("crash", "KeyError")
    ((told, error),) = seen
    assert told.name == "crash"
    assert isinstance(error, Crash)
    assert "KeyError: 'secret'" in str(error)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (things.die, "it gave no answer: its process was ended by SIGSEGV"),
        (things.leave, "it gave no answer: its process ended with status 7"),
        (things.stop, "it gave no answer: its process ended with status 3"),
        (things.signalled, "it gave no answer: its process was ended by signal 40"),
        (things.speak, "it gave no answer: its process ended with status 0"),
    ],
)
def test_a_process_that_ends_is_a_failure_of_its_tool_alone(
    function: Callable[..., object], why: str
) -> None:
    assert apart(function).run(call(function.__name__)) == died(function.__name__, why)


def test_threads_that_a_tool_leaves_running_hold_nobody_up() -> None:
    began = time.monotonic()
    assert apart(things.lag).run(call("lag")) == ToolReturned(4, "null")
    assert time.monotonic() - began < 20


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system has no such limit")
def test_a_process_takes_no_more_memory_than_it_may() -> None:
    tools = apart(things.devour, Isolation(memory_bytes=2**30))
    assert tools.run(call("devour", megabytes=1)) == ToolReturned(4, str(2**20))
    assert tools.run(call("devour", megabytes=2**11)) == unexpected("devour", "MemoryError")


def test_a_process_hands_back_no_more_than_it_may() -> None:
    tools = apart(things.flood, Isolation(max_reply_bytes=1_000))
    assert tools.run(call("flood", count=10)) == ToolReturned(4, '"xxxxxxxxxx"')
    assert tools.run(call("flood", count=2_000)) == died("flood", "it handed back more than 1000 bytes")


def test_a_process_sees_what_it_is_allowed_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "s")
    monkeypatch.setenv("SHELF", "3")
    seen = json.loads(
        apart(things.environment, Isolation(environment=("SHELF",))).run(call("environment")).output
    )
    assert "SHELF" in seen
    assert "SECRET_KEY" not in seen


def stopped(name: str) -> ToolReturned:
    return failing(
        "TOOL_TIMEOUT",
        f"{name} did not return within 1 s and was stopped; it may have had effects. "
        "Check before you call it again.",
    )


def test_a_process_is_killed_at_the_deadline_with_all_that_it_started(tmp_path: Path) -> None:
    marker, tool = tmp_path / "marker", Tool.of(things.hang, isolated=True, deadline_ms=1_000)
    assert PythonTools([tool]).run(call("hang", marker=str(marker))) == stopped("hang")
    # On a busy machine a second may be over before the process has started anything.
    if marker.exists() and (pid := marker.read_text()).endswith("\n"):
        assert gone(int(pid))


@pytest.mark.anyio
async def test_a_process_that_nobody_waits_for_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    marker, tools = (
        tmp_path / "marker",
        AsyncPythonTools([Tool.of(things.hang, isolated=True)], deadline=HANG),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tools.run, call("hang", marker=str(marker)))
        await eventually_async(
            lambda: marker.exists() and marker.read_text().endswith("\n"), "a process that the tool started"
        )
        tasks.cancel_scope.cancel()
    assert gone(int(marker.read_text()))


@pytest.mark.anyio
async def test_the_async_host_kills_it_too(tmp_path: Path) -> None:
    tool = Tool.of(things.hang, isolated=True, deadline_ms=1_000)
    tools, effect = AsyncPythonTools([tool, things.soon]), call("hang", marker=str(tmp_path / "marker"))
    assert await tools.run(effect) == stopped("hang")
    assert await tools.run(call("soon", day="2026-11-22")) == ToolReturned(4, '"2026-11-22"')
    with anyio.move_on_after(0.2) as scope:
        await tools.run(effect)
    assert scope.cancelled_caught


def test_being_stopped_is_no_error_of_the_tool(tmp_path: Path) -> None:
    seen: list[Exception] = []
    tools = PythonTools(
        [Tool.of(things.hang, isolated=True)], deadline=0.5, on_error=lambda _, error: seen.append(error)
    )
    assert "TOOL_TIMEOUT" in tools.run(call("hang", marker=str(tmp_path / "marker"))).output
    time.sleep(0.3)
    assert seen == []


def test_a_call_that_is_over_starts_no_process() -> None:
    over = IsolatedCall(Isolation())
    over.kill()
    assert complaint(Crash, lambda: over.run({})) == "it gave no answer: its process was stopped"


def test_a_function_that_another_process_cannot_import_is_refused() -> None:
    def local() -> None: ...

    main = ModuleType("__main__")
    exec("def here() -> None: ...", vars(main))  # noqa: S102 - as the main program would define it
    for function in (local, main.here):
        assert complaint(ConfigError, partial(apart, function)).endswith(
            "put it at the top level of a module that is not the main program"
        )
    assert complaint(ConfigError, lambda: apart(things.with_context)) == (
        "tool 'with_context': an isolated tool cannot have a RunContext; call current_call() for the key, "
        "or do not isolate it"
    )


HANGING = """
from tests.adapters.tools import isolated_things as things
from tests.adapters.tools.python.test_host import call
from toolreel.tools._python.host import PythonTools
from toolreel.tools._python.tool import Tool
tools = PythonTools([Tool.of(things.hang, isolated=True)], deadline=0.3)
print(tools.run(call("hang", marker="m")).output)
"""


def test_nothing_is_left_that_keeps_the_program(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", HANGING],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=True,
    )
    assert "TOOL_TIMEOUT" in done.stdout
