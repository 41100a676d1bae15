from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import anyio
import pytest

from tests.adapters.tools import isolated_things as things
from tests.adapters.tools.processes import gone
from tests.adapters.tools.python.test_host import call, failing, unexpected
from tests.patience import HANG, NEVER
from tests.samples import complaint
from toolreel import Image
from toolreel.tools import AsyncPythonTools, Crash, CurrentCall, Isolation, PythonTools, RunContext, Tool
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import Spent, ToolReturned

REMEDY = "Do not repeat the call as it was: try other arguments, or another way."


def apart(function: Callable[..., object], isolated: bool | Isolation = True) -> PythonTools:
    return PythonTools([Tool.of(function, isolated=isolated)])


def died(name: str, why: str) -> ToolReturned:
    return failing("INTERNAL_ERROR", f"{name} did not return: {why}. {REMEDY}")


def test_what_a_tool_spends_in_a_process_of_its_own_is_counted() -> None:
    tools = apart(things.ask)
    assert tools.run(call("ask", cost=0.5)) == ToolReturned(4, '"done"', spent=Spent(10, 4, 0.5))
    assert tools.run(call("ask", cost=None)).spent == Spent(10, 4)


def test_a_tool_in_a_process_of_its_own_reads_and_returns_like_any_other(
    capfd: pytest.CaptureFixture[str],
) -> None:
    tools = PythonTools([things.later, things.soon, Tool.of(things.Shelf.count, isolated=True)])
    assert tools.run(call("later", day="2026-11-22", days=2)) == ToolReturned(4, '"2026-11-24"')
    assert tools.run(call("soon", day="2026-11-22")) == ToolReturned(4, '"2026-11-22"')
    assert tools.run(call("count", part="pin")) == ToolReturned(4, "3")
    assert "/day: expected a date such as" in tools.run(call("later", day="soon")).output
    assert capfd.readouterr() == ("", "prints go elsewhere\n")


def test_a_picture_comes_out_of_its_process() -> None:
    picture = Image.from_bytes(b"\x89PNG\r\n\x1a\n")
    expected = ToolReturned(4, f'["here:","{picture.label}"]', parts=(picture,))
    assert apart(things.picture).run(call("picture")) == expected


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
        (things.stop, "it gave no answer: its process ended with exit code 3"),
        (things.speak, "it gave no answer: its process ended with exit code 0"),
    ],
)
def test_a_process_that_ends_is_a_failure_of_its_tool_alone(
    function: Callable[..., object], why: str
) -> None:
    assert apart(function).run(call(function.__name__)) == died(function.__name__, why)


def test_threads_that_a_tool_leaves_running_hold_nobody_up() -> None:
    began = time.monotonic()
    tools = PythonTools([Tool.of(things.lag, isolated=True)], deadline=HANG)
    assert tools.run(call("lag", seconds=NEVER)) == ToolReturned(4, "null")
    assert time.monotonic() - began < HANG


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system has no such limit")
def test_a_process_takes_no_more_memory_than_it_may() -> None:
    tools = apart(things.devour, Isolation(memory_bytes=2**30))
    assert tools.run(call("devour", megabytes=1)) == ToolReturned(4, str(2**20))
    assert tools.run(call("devour", megabytes=2**11)) == unexpected("devour", "MemoryError")


def test_a_process_hands_back_no_more_than_it_may() -> None:
    limit = 16 * 2**20
    assert apart(things.flood).run(call("flood", count=limit)) == died(
        "flood", f"it handed back more than {limit} bytes"
    )


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
    seen: list[Exception] = []
    tools = PythonTools([tool], on_error=lambda _, error: seen.append(error))
    assert tools.run(call("hang", marker=str(marker))) == stopped("hang")
    assert seen == []  # being stopped is no error of the tool
    # On a busy machine a second may be over before the process has started anything.
    if marker.exists() and (pid := marker.read_text()).endswith("\n"):
        assert gone(int(pid))


@pytest.mark.anyio
async def test_the_async_host_kills_it_too(tmp_path: Path) -> None:
    tool = Tool.of(things.hang, isolated=True, deadline_ms=1_000)
    tools, effect = AsyncPythonTools([tool, things.soon]), call("hang", marker=str(tmp_path / "marker"))
    assert await tools.run(effect) == stopped("hang")
    assert await tools.run(call("soon", day="2026-11-22")) == ToolReturned(4, '"2026-11-22"')
    with anyio.move_on_after(0.2) as scope:
        await tools.run(effect)
    assert scope.cancelled_caught


def test_a_call_that_is_over_starts_no_process() -> None:
    over = RunContext.of_call(call("any"), None)
    over.end()
    told = complaint(Crash, lambda: Isolation().response({}, over))
    assert told == "it gave no answer: its process was stopped"


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
