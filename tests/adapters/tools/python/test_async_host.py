from __future__ import annotations

import sys
import threading
import time

import anyio
import pytest

from tests.adapters.tools.python.test_host import (
    Fetcher,
    add,
    call,
    crash,
    failing,
    fetch,
    refuse,
    time_out_by_itself,
    unexpected,
    wait,
)
from tests.patience import HANG, eventually_async
from tests.samples import complaint
from toolreel._internal import MissingExtra
from toolreel.tools import DEADLINE, AsyncPythonTools, Progress, RunContext, Tool
from toolreel_core._protocol import ToolReturned
from toolreel_core._tools import ToolDefinition

with_and_without_a_deadline = pytest.mark.parametrize("deadline", [DEADLINE, None], ids=["deadline", "none"])


@pytest.mark.anyio
@with_and_without_a_deadline
async def test_async_tools_are_awaited_and_others_called(deadline: float | None) -> None:
    fetcher = Tool(ToolDefinition.of("fetcher"), Fetcher())
    tools = AsyncPythonTools([add, fetch, fetcher], deadline=deadline)
    assert tools.surface.names == ("add", "fetch", "fetcher")
    assert await tools.run(call("add", a=2)) == ToolReturned(4, "42")
    assert await tools.run(call("fetch", url="/")) == ToolReturned(4, '"/"')
    assert await tools.run(call("fetcher")) == ToolReturned(4, '"page"')


@pytest.mark.anyio
@with_and_without_a_deadline
async def test_whatever_a_tool_raises_is_told_to_the_model(deadline: float | None) -> None:
    async def arefuse() -> None:
        refuse()

    async def acrash() -> None:
        crash()

    tools = AsyncPythonTools([refuse, arefuse, crash, acrash, time_out_by_itself], deadline=deadline)
    told = failing("ARGUMENT_ERROR", "There is no such room; ask for a list first.")
    assert [await tools.run(call(name)) for name in ("refuse", "arefuse")] == [told, told]
    for name, kind in (("crash", "KeyError"), ("acrash", "KeyError"), ("time_out_by_itself", "TimeoutError")):
        assert await tools.run(call(name)) == unexpected(name, kind)


TOO_LATE = failing(
    "TOOL_TIMEOUT",
    "hang did not return within 0.05 s; it may still have effects. Check before you call it again.",
)


@pytest.mark.anyio
async def test_an_async_tool_that_hangs_is_cancelled_at_its_deadline() -> None:
    ways_out: list[str] = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            ways_out.append("cancelled")
            raise

    began = time.monotonic()
    assert await AsyncPythonTools([hang], deadline=0.05).run(call("hang")) == TOO_LATE
    assert 0.05 <= time.monotonic() - began < HANG
    assert ways_out == ["cancelled"]


@pytest.mark.anyio
@with_and_without_a_deadline
async def test_a_tool_in_its_thread_holds_up_nobody(deadline: float | None) -> None:
    loop_went_on = threading.Event()

    def wait() -> bool:
        return loop_went_on.wait(HANG)

    async def go_on() -> None:
        loop_went_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go_on)
        assert await AsyncPythonTools([wait], deadline=deadline).run(call("wait")) == ToolReturned(4, "true")


@pytest.mark.anyio
async def test_cancelling_the_run_cancels_its_tool_and_is_no_event() -> None:
    released = threading.Event()

    async def hang() -> None:
        await anyio.sleep_forever()

    def block() -> None:
        released.wait(2 * HANG)

    for tool in (hang, block):
        with anyio.move_on_after(0.05) as scope:
            await AsyncPythonTools([tool]).run(call(tool.__name__))
        assert scope.cancelled_caught
    released.set()


@pytest.mark.anyio
@with_and_without_a_deadline
@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt()])
async def test_what_stops_a_program_in_a_thread_comes_out_of_it(
    stop: BaseException, deadline: float | None
) -> None:
    def leave() -> None:
        raise stop

    with pytest.raises(type(stop)) as caught:
        await AsyncPythonTools([leave], deadline=deadline).run(call("leave"))
    assert caught.value is stop


def test_without_anyio_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)
    assert complaint(MissingExtra, AsyncPythonTools) == (
        "anyio is not installed: it comes with the extra 'http', pip install 'toolreel[http]'"
    )


@pytest.mark.anyio
@with_and_without_a_deadline
async def test_the_deadline_of_a_tool_goes_before_that_of_the_host(deadline: float | None) -> None:
    tools = AsyncPythonTools(
        [Tool.of(sleep, deadline_ms=50), Tool.of(wait, deadline_ms=50)], deadline=deadline
    )
    for name in ("sleep", "wait"):
        assert f"{name} did not return within 0.05 s" in (await tools.run(call(name))).output


async def sleep() -> None:
    """Sleep."""
    await anyio.sleep_forever()


@pytest.mark.anyio
async def test_async_tools_get_their_context_too_and_learn_when_it_is_over() -> None:
    contexts: list[RunContext[str]] = []

    async def hang(run: RunContext[str]) -> str:
        contexts.append(run)
        await anyio.sleep_forever()
        return run.deps

    async def who(run: RunContext[str]) -> str:
        run.progress("asked")
        return run.deps

    heard: list[Progress] = []
    tools = AsyncPythonTools([who], deps="ada", on_progress=heard.append)
    assert await tools.run(call("who")) == ToolReturned(4, '"ada"')
    assert [progress.message for progress in heard] == ["asked"]
    tools = AsyncPythonTools([hang], deadline=0.05, deps="ada")
    assert await tools.run(call("hang")) == TOO_LATE
    assert [context.cancelled for context in contexts] == [True]


@pytest.mark.anyio
async def test_a_cancelled_run_lets_its_tools_in_threads_know() -> None:
    begun, seen = threading.Event(), threading.Event()

    def hang(run: RunContext[None]) -> None:
        begun.set()
        while not run.cancelled:
            time.sleep(0.01)
        seen.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(AsyncPythonTools([hang]).run, call("hang"))
        await eventually_async(begun.is_set, "the call in its thread")
        tasks.cancel_scope.cancel()
    assert seen.wait(HANG)
