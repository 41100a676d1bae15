"""Hosts of Python functions: what a call gives on the sync and the async one, with and without a deadline."""

from __future__ import annotations

import contextvars
import json
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from queue import Queue
from typing import Any, Protocol

import anyio
import pytest

from tests.patience import HANG, eventually_async
from tests.samples import complaint, worked
from toolreel.tools import (
    AsyncPythonTools,
    CurrentCall,
    OkKey,
    PythonTools,
    RunContext,
    Tool,
    ToolError,
    ToolLike,
    current_call,
    signature_of,
    tool,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, parse
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._tools import ToolDefinition, ToolFlags, envelope_of


def call(name: str, **arguments: Json) -> RunTool:
    return RunTool(4, "call_a", name, canonical(arguments))


def failing(code: str, message: str) -> ToolReturned:
    return ToolReturned(
        4, canonical({"ok": False, "data": {}, "errors": [{"code": code, "message": message}]})
    )


def unexpected(name: str, kind: str) -> ToolReturned:
    """What the model is told of an exception that was not meant for it."""
    rest = "Do not repeat the call as it was: try other arguments, or another way."
    return failing("INTERNAL_ERROR", f"{name} failed with an unexpected {kind}. {rest}")


class Running(Protocol):
    """Runs a call on a new host with these tools and settings."""

    def __call__(self, effect: RunTool, *tools: ToolLike, **settings: Any) -> ToolReturned: ...  # noqa: ANN401


def run_sync(effect: RunTool, *tools: ToolLike, **settings: Any) -> ToolReturned:  # noqa: ANN401
    return PythonTools(tools, **settings).run(effect)


def run_async(effect: RunTool, *tools: ToolLike, **settings: Any) -> ToolReturned:  # noqa: ANN401
    return anyio.run(AsyncPythonTools(tools, **settings).run, effect)


on_every_host = pytest.mark.parametrize(
    "run",
    [run_sync, partial(run_sync, deadline=None), run_async, partial(run_async, deadline=None)],
    ids=["thread", "here", "async", "async without a deadline"],
)


def add(a: int, b: int = 40) -> int:
    """Add two numbers."""
    return a + b


async def fetch(url: str) -> str:
    """Fetch a page."""
    return url


class Fetcher:
    """A callable object that is async."""

    async def __call__(self) -> str:
        return "page"


@on_every_host
def test_a_tool_gets_its_arguments_by_name_and_its_value_comes_back(run: Running) -> None:
    assert run(call("add", a=2), add) == ToolReturned(4, "42")
    assert run(call("add", b=1, a=2), add) == ToolReturned(4, "3")


@pytest.mark.parametrize("deadline", [60.0, None])
def test_async_tools_are_awaited(deadline: float | None) -> None:
    fetcher = Tool(ToolDefinition.of("fetcher"), Fetcher())
    assert run_async(call("fetch", url="/"), fetch, deadline=deadline) == ToolReturned(4, '"/"')
    assert run_async(call("fetcher"), fetcher, deadline=deadline) == ToolReturned(4, '"page"')


def deep() -> Json:
    value: Json = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "Object of type object is not JSON serializable; return what JSON can carry"),
        (math.nan, "Out of range float values are not JSON compliant"),
        (deep(), "maximum recursion depth exceeded"),
    ],
)
def test_an_output_that_is_not_json_is_told(value: object, why: str) -> None:
    give = Tool(ToolDefinition.of("give"), lambda: value)
    (error,) = json.loads(run_sync(call("give"), give).output)["errors"]
    assert error["code"] == "TOOL_OUTPUT_NOT_JSON"
    assert error["message"].startswith(f"give ran, but its output is not JSON: {why}")


def refuse() -> None:
    raise ToolError("There is no such room; ask for a list first.")


def refuse_by_code() -> None:
    raise ToolError("The room is taken.", "CONFLICT")


def crash() -> None:
    raise KeyError("room")


def time_out_by_itself() -> None:
    raise TimeoutError("the far side is slow")


@on_every_host
def test_the_model_gets_the_words_of_a_tool_error_and_the_class_of_any_other(run: Running) -> None:
    words = "There is no such room; ask for a list first."
    assert run(call("refuse"), refuse) == failing("ARGUMENT_ERROR", words)
    assert run(call("refuse_by_code"), refuse_by_code) == failing("CONFLICT", "The room is taken.")
    assert run(call("crash"), crash) == unexpected("crash", "KeyError")
    assert run(call("time_out_by_itself"), time_out_by_itself) == unexpected(
        "time_out_by_itself", "TimeoutError"
    )
    assert run(call("add", c=1), add) == unexpected("add", "TypeError")


@on_every_host
@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt()])
def test_what_stops_a_program_stops_it(stop: BaseException, run: Running) -> None:
    def leave() -> None:
        raise stop

    with pytest.raises(type(stop)) as caught:
        run(call("leave"), leave)
    assert caught.value is stop


TOO_LATE = failing(
    "TOOL_TIMEOUT",
    "hang did not return within 0.05 s; it may still have effects. Check before you call it again.",
)


@pytest.mark.parametrize("run", [run_sync, run_async])
def test_a_tool_that_hangs_is_left_behind_at_its_deadline(run: Running) -> None:
    released, ended = threading.Event(), threading.Event()

    def hang() -> None:
        released.wait(2 * HANG)
        ended.set()

    began = time.monotonic()
    assert run(call("hang"), hang, deadline=0.05) == TOO_LATE
    assert 0.05 <= time.monotonic() - began < HANG
    assert not ended.is_set()
    released.set()
    assert ended.wait(HANG)


@pytest.mark.anyio
async def test_an_async_tool_that_hangs_is_cancelled_at_its_deadline() -> None:
    contexts: list[RunContext[str]] = []

    async def hang(run: RunContext[str]) -> None:
        contexts.append(run)
        await anyio.sleep_forever()

    began = time.monotonic()
    assert await AsyncPythonTools([hang], deadline=0.05, deps="ada").run(call("hang")) == TOO_LATE
    assert 0.05 <= time.monotonic() - began < HANG
    assert [(context.deps, context.cancelled) for context in contexts] == [("ada", True)]


def test_the_thread_of_a_tool_does_not_keep_the_process() -> None:
    def who() -> list[Json]:
        thread = threading.current_thread()
        return [thread.name, thread.daemon]

    for run in (run_sync, run_async):
        assert run(call("who"), Tool(ToolDefinition.of("who"), who)) == ToolReturned(4, '["who",true]')


@pytest.mark.anyio
@pytest.mark.parametrize("deadline", [60.0, None])
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
async def test_cancelling_the_run_cancels_its_tool_and_tells_the_thread_of_another() -> None:
    begun, seen = threading.Event(), threading.Event()

    async def sleep() -> None:
        await anyio.sleep_forever()

    def hang(run: RunContext[None]) -> None:
        begun.set()
        while not run.cancelled:
            time.sleep(0.01)
        seen.set()

    with anyio.move_on_after(0.05) as scope:
        await AsyncPythonTools([sleep]).run(call("sleep"))
    assert scope.cancelled_caught
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(AsyncPythonTools([hang]).run, call("hang"))
        await eventually_async(begun.is_set, "the call in its thread")
        tasks.cancel_scope.cancel()
    assert seen.wait(HANG)


USER = contextvars.ContextVar("USER", default="nobody")


@on_every_host
def test_a_tool_sees_the_context_of_its_caller_and_knows_its_call(run: Running) -> None:
    def which() -> Mapping[str, str]:
        """Say which call this is."""
        now = current_call()
        return {"user": USER.get(), "name": now.name, "id": now.call_id, "key": now.key}

    token = USER.set("ada")
    try:
        returned = run(replace(call("tell.which"), key="k"), Tool.of(which, name="tell.which"))
    finally:
        USER.reset(token)
    assert json.loads(returned.output) == {"user": "ada", "name": "tell.which", "id": "call_a", "key": "k"}


@pytest.mark.parametrize(
    "tool",
    [fetch, Tool(ToolDefinition.of("fetch"), Fetcher()), Tool(ToolDefinition.of("fetch"), partial(fetch))],
)
def test_an_async_tool_is_sent_to_the_async_host(tool: ToolLike) -> None:
    assert complaint(ConfigError, lambda: PythonTools([tool])) == (
        "tool 'fetch' is async; run it with arun and AsyncPythonTools"
    )


def wait(seconds: float = 900.0) -> str:
    """Wait."""
    threading.Event().wait(seconds)
    return "done"


@on_every_host
def test_the_deadline_of_a_tool_goes_before_that_of_the_host(run: Running) -> None:
    assert "wait did not return within 0.05 s" in run(call("wait"), Tool.of(wait, deadline_ms=50)).output


@pytest.mark.parametrize("flags", [{"idempotent": True}, {"read_only": True}])
def test_a_call_that_may_be_made_again_is_told_so_when_it_is_late(flags: ToolFlags) -> None:
    assert run_sync(call("wait"), Tool.of(wait, **flags), deadline=0.02) == failing(
        "TOOL_TIMEOUT",
        "wait did not return within 0.02 s. Calling it again with the same arguments does no harm.",
    )


@pytest.mark.parametrize(
    ("errors", "code", "message", "logged"),
    [
        ([ToolError("No room.", "FULL")], "FULL", "No room.", []),
        ([ExceptionGroup("", [ToolError("No room.")])], "ARGUMENT_ERROR", "No room.", []),
        ([ToolError("One."), ToolError("Two."), ToolError("One.")], "ARGUMENT_ERROR", "One. Two.", []),
        ([ValueError("secret"), ToolError("One.")], "ARGUMENT_ERROR", "One.", ["secret"]),
    ],
)
def test_the_words_of_a_tool_error_in_a_group_are_told(
    errors: list[Exception], code: str, message: str, logged: list[str]
) -> None:
    def fail() -> None:
        raise ExceptionGroup("several", errors)

    heard: list[Exception] = []
    told = run_sync(call("fail"), fail, on_error=lambda _, error: heard.append(error))
    assert told == failing(code, message)
    groups = [each for each in heard if isinstance(each, ExceptionGroup)]
    assert [str(error) for group in groups for error in group.exceptions] == logged


def test_names_that_are_masked_dotted_unknown_or_given_twice() -> None:
    tools = PythonTools([Tool.of(add, name="math.add"), wait, fetch], allow=["math.*", "wait"], deny=["w*"])
    assert tools.surface.names == ("math_add",)
    assert tools.surface.masked == ("wait", "fetch")
    assert tools.run(call("math.add", a=1)) == ToolReturned(4, "41")
    for name in ("wait", "sub"):
        assert complaint(ConfigError, partial(tools.run, call(name))) == (
            f"this host has no tool {name!r}; build the plan with the surface of this host"
        )
    assert "are both 'add' to the model" in complaint(ConfigError, lambda: PythonTools([add, add]))


def count(run: RunContext[dict[str, int]], part: str) -> list[Json]:
    """How many of a part are in stock."""
    return [run.deps[part], run.call.name, run.key, run.call.turn, run.call == current_call()]


def test_a_tool_gets_what_its_host_was_given_and_the_model_learns_nothing_of_it() -> None:
    assert "run" not in signature_of(count).definition.parameters
    effect = replace(call("count", part="pin"), key="k", turn=2)
    assert run_sync(effect, count, deps={"pin": 4}) == ToolReturned(4, '[4,"count","k",2,true]')
    # A model cannot put a context of its own in place.
    forged, untyped = call("count", part="pin", run={"deps": {"pin": 9}}), Tool.of(count, parameters={})
    assert run_sync(forged, untyped, deps={"pin": 4}).output.startswith("[4,")


def test_a_tool_can_find_out_that_nobody_waits_any_longer() -> None:
    found: Queue[tuple[bool, float | None]] = Queue()

    def hang(run: RunContext[None]) -> None:
        found.put((run.cancelled, run.seconds_left))
        while not run.cancelled:
            time.sleep(0.01)
        found.put((run.cancelled, run.seconds_left))

    told = run_sync(call("hang"), hang, deadline=1)
    assert "hang did not return within 1 s" in told.output
    cancelled, left = found.get(timeout=HANG)
    assert not cancelled
    assert left is not None
    assert 0 < left <= 1
    assert found.get(timeout=HANG) == (True, 0.0)


@on_every_host
def test_what_the_model_is_not_told_is_kept_for_people(
    run: Running, caplog: pytest.LogCaptureFixture
) -> None:
    effect = replace(call("crash"), turn=3)
    run(effect, crash)
    (record,) = (record for record in caplog.records if record.name == "toolreel.tools")
    assert record.getMessage() == "tool crash failed, call call_a of turn 3"
    assert "KeyError: 'room'" in caplog.text

    seen: list[tuple[CurrentCall, Exception]] = []
    run(effect, crash, on_error=lambda *told: seen.append(told))
    run(call("refuse"), refuse, on_error=lambda *told: seen.append(told))
    ((told, error),) = seen
    assert (told.turn, type(error)) == (3, KeyError)
    assert error.__traceback__ is not None


def report(value: dict[str, Any]) -> dict[str, Any]:
    """Return it."""
    return value


@pytest.mark.parametrize(
    ("ok_key", "value", "read"), worked("how ok in a result counts is up to the tool", "tools")
)
def test_how_ok_in_a_result_counts_is_up_to_the_tool(
    ok_key: OkKey, value: dict[str, Any], read: list[object]
) -> None:
    returned = run_sync(call("report", value=value), Tool.of(report, ok_key=ok_key))
    envelope = envelope_of("report", returned.output, limit=10_000)
    assert [envelope.ok, parse(envelope.data), [each.message for each in envelope.errors]] == read


def test_a_tool_error_is_a_failure_whatever_ok_means() -> None:
    @tool(ok_key="data")
    def fail() -> int:
        raise ToolError("No.")

    assert not envelope_of("fail", run_sync(call("fail"), fail).output, limit=10_000).ok
    wrong: Any = "never"
    told = complaint(ConfigError, lambda: Tool.of(report, ok_key=wrong))
    assert told == "ok_key: expected one of envelope, failure, data, got 'never'"
