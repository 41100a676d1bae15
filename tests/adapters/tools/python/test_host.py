from __future__ import annotations

import contextvars
import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from queue import Queue
from typing import Any, Final, cast

import anyio
import pytest

from tests.patience import HANG
from tests.samples import complaint
from toolreel.tools import (
    DEADLINE,
    AsyncPythonTools,
    CurrentCall,
    OkKey,
    Progress,
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


def add(a: int, b: int = 40) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("host", [PythonTools, AsyncPythonTools])
def test_a_function_alone_is_no_list_of_tools(host: type[PythonTools | AsyncPythonTools]) -> None:
    assert complaint(ConfigError, lambda: host(cast("list[ToolLike]", add))) == (
        f"tools: expected a list, got function; write {host.__name__}([function, ...])"
    )


async def fetch(url: str) -> str:
    """Fetch a page."""
    return url


class Fetcher:
    """A callable object that is async."""

    async def __call__(self) -> str:
        return "page"


in_and_out_of_a_thread = pytest.mark.parametrize("deadline", [DEADLINE, None], ids=["thread", "here"])


@in_and_out_of_a_thread
def test_a_tool_gets_its_arguments_by_name_and_its_value_comes_back(deadline: float | None) -> None:
    tools = PythonTools([add], deadline=deadline)
    assert tools.run(call("add", a=2)) == ToolReturned(4, "42")
    assert tools.run(call("add", b=1, a=2)) == ToolReturned(4, "3")


def test_the_surface_shows_the_tools_in_order() -> None:
    ping = Tool(ToolDefinition.of("ping", "Is anybody there?"), lambda: "pong")
    tools = PythonTools([ping, add])
    assert tools.surface.names == ("ping", "add")
    assert tools.surface.by_name["add"].description == "Add two numbers."
    assert tools.run(call("ping")) == ToolReturned(4, '"pong"')


def endless() -> list[object]:
    values: list[object] = []
    values.append(values)
    return values


def deep() -> Json:
    value: Json = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "Object of type object is not JSON serializable; return what JSON can carry"),
        (
            b"x",
            "Object of type bytes is not JSON serializable; "
            "return Image.from_bytes(data), File.from_bytes(data, media_type), or base64 text",
        ),
        (
            (n for n in "ab"),
            "Object of type generator is not JSON serializable; return a list of ",
        ),
        ({(1, 2): 3}, "keys must be str, int, float, bool or None, not tuple"),
        (math.nan, "Out of range float values are not JSON compliant"),
        (endless(), "Circular reference detected"),
        (deep(), "maximum recursion depth exceeded"),
    ],
)
def test_an_output_that_is_not_json_is_told(value: object, why: str) -> None:
    tools = PythonTools([Tool(ToolDefinition.of("give"), lambda: value)])
    (error,) = json.loads(tools.run(call("give")).output)["errors"]
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


@in_and_out_of_a_thread
def test_a_tool_error_is_told_to_the_model_in_its_own_words(deadline: float | None) -> None:
    tools = PythonTools([refuse, refuse_by_code], deadline=deadline)
    assert tools.run(call("refuse")) == failing(
        "ARGUMENT_ERROR", "There is no such room; ask for a list first."
    )
    assert tools.run(call("refuse_by_code")) == failing("CONFLICT", "The room is taken.")


@in_and_out_of_a_thread
def test_any_other_exception_is_an_internal_error(deadline: float | None) -> None:
    tools = PythonTools([crash, time_out_by_itself, add], deadline=deadline)
    assert tools.run(call("crash")) == unexpected("crash", "KeyError")
    assert tools.run(call("time_out_by_itself")) == unexpected("time_out_by_itself", "TimeoutError")
    assert tools.run(call("add", c=1)) == unexpected("add", "TypeError")


@in_and_out_of_a_thread
@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt()])
def test_what_stops_a_program_stops_it(stop: BaseException, deadline: float | None) -> None:
    def leave() -> None:
        raise stop

    with pytest.raises(type(stop)) as caught:
        PythonTools([leave], deadline=deadline).run(call("leave"))
    assert caught.value is stop


def test_a_tool_that_hangs_is_left_behind_at_its_deadline() -> None:
    released, ended = threading.Event(), threading.Event()

    def hang() -> None:
        released.wait(2 * HANG)
        ended.set()

    began = time.monotonic()
    event = PythonTools([hang], deadline=0.05).run(call("hang"))
    assert 0.05 <= time.monotonic() - began < HANG
    assert event == failing(
        "TOOL_TIMEOUT",
        "hang did not return within 0.05 s; it may still have effects. Check before you call it again.",
    )
    assert not ended.is_set()
    released.set()
    assert ended.wait(HANG)


def test_the_thread_of_a_tool_does_not_keep_the_process() -> None:
    def who() -> list[Json]:
        thread = threading.current_thread()
        return [thread.name, thread.daemon]

    tools = [Tool(ToolDefinition.of("who"), who)]
    assert PythonTools(tools).run(call("who")) == ToolReturned(4, '["who",true]')
    assert anyio.run(AsyncPythonTools(tools).run, call("who")) == ToolReturned(4, '["who",true]')


def test_without_a_deadline_a_tool_runs_in_the_calling_thread() -> None:
    def here() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert PythonTools([here], deadline=None).run(call("here")) == ToolReturned(4, "true")
    assert PythonTools([here]).run(call("here")) == ToolReturned(4, "false")


USER = contextvars.ContextVar("USER", default="nobody")


@in_and_out_of_a_thread
def test_a_tool_sees_the_context_of_its_caller(deadline: float | None) -> None:
    def whoami() -> str:
        return USER.get()

    token = USER.set("ada")
    try:
        assert PythonTools([whoami], deadline=deadline).run(call("whoami")) == ToolReturned(4, '"ada"')
    finally:
        USER.reset(token)


@pytest.mark.parametrize(
    "tool",
    [fetch, Tool(ToolDefinition.of("fetch"), Fetcher()), Tool(ToolDefinition.of("fetch"), partial(fetch))],
)
def test_an_async_tool_is_sent_to_the_async_host(tool: ToolLike) -> None:
    assert complaint(ConfigError, lambda: PythonTools([tool])) == (
        "tool 'fetch' is async; run it with arun and AsyncPythonTools"
    )


def test_two_tools_may_not_share_a_name() -> None:
    assert complaint(ConfigError, lambda: PythonTools([add, add])) == (
        "tool 'add' is defined twice; rename one of the two"
    )


def test_a_call_to_a_tool_that_the_host_does_not_have_is_the_callers_mistake() -> None:
    told = "this host has no tool 'sub'; build the plan with the surface of this host"
    assert complaint(ConfigError, lambda: PythonTools([add]).run(call("sub"))) == told


def wait(seconds: float = 900.0) -> str:
    """Wait."""
    threading.Event().wait(seconds)
    return "done"


@in_and_out_of_a_thread
def test_the_deadline_of_a_tool_goes_before_that_of_the_host(deadline: float | None) -> None:
    tools = PythonTools([Tool.of(wait, deadline_ms=50)], deadline=deadline)
    assert "wait did not return within 0.05 s" in tools.run(call("wait")).output


def test_a_tool_may_take_longer_than_its_host_allows_others() -> None:
    tools = PythonTools([Tool.of(wait, deadline_ms=300_000), Tool.of(wait, name="other")], deadline=0.02)
    assert tools.run(call("wait", seconds=0.1)) == ToolReturned(4, '"done"')
    assert "other did not return within 0.02 s" in tools.run(call("other")).output


def fail_with(*errors: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise ExceptionGroup("several", errors)

    return fail


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
    heard: list[Exception] = []
    tools = PythonTools([fail_with(*errors)], on_error=lambda _, error: heard.append(error))
    assert tools.run(call("fail")) == failing(code, message)
    groups = [each for each in heard if isinstance(each, ExceptionGroup)]
    assert [str(error) for group in groups for error in group.exceptions] == logged


def which() -> Mapping[str, str]:
    """Say which call this is."""
    now = current_call()
    return {"name": now.name, "id": now.call_id, "key": now.key}


@in_and_out_of_a_thread
def test_a_tool_knows_which_call_it_runs(deadline: float | None) -> None:
    tools = PythonTools([Tool.of(which, name="tell.which")], deadline=deadline)
    effect = replace(call("tell.which"), key="k")
    assert json.loads(tools.run(effect).output) == {"name": "tell.which", "id": "call_a", "key": "k"}


class Room:
    """Writes its schema as a pydantic model does."""

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        return {"type": "object", "description": "A room.", "properties": {"a": {"type": "integer"}}}


def test_a_schema_of_ones_own_goes_before_the_signature() -> None:
    tool = Tool.of(add, parameters=Room, polling=True)
    assert tool.definition == ToolDefinition.of("add", "Add two numbers.", Room, polling=True)
    assert Tool.of(add, name="sum", description="", parameters=Room).definition.description == "A room."
    assert PythonTools([tool]).run(call("add", a=2)) == ToolReturned(4, "42")


def test_a_tool_of_a_long_or_dotted_name_is_run_by_its_inner_name() -> None:
    tools = PythonTools([Tool.of(add, name="math.add")])
    assert tools.surface.names == ("math_add",)
    assert tools.run(call("math.add", a=1)) == ToolReturned(4, "41")


def test_a_masked_tool_is_neither_sent_nor_run() -> None:
    tools = PythonTools([add, wait, fetch], allow=["add", "wait"], deny=["w*"])
    assert tools.surface.names == ("add",)
    assert tools.surface.masked == ("wait", "fetch")
    assert complaint(ConfigError, lambda: tools.run(call("wait"))) == (
        "this host has no tool 'wait'; build the plan with the surface of this host"
    )
    assert complaint(ConfigError, lambda: PythonTools([add], deny=["ad"])) == (
        "deny: there is no tool 'ad'; did you mean 'add'?"
    )


def test_tools_of_two_sources_that_clash_are_told_apart() -> None:
    one, other = Tool.of(add).from_source("here"), Tool.of(add).from_source("there")
    assert complaint(ConfigError, lambda: PythonTools([one, other])) == (
        "tool 'add' comes from 'here' and from 'there'; rename one of the two, or leave one source out"
    )


def count(run: RunContext[dict[str, int]], part: str) -> list[Json]:
    """How many of a part are in stock."""
    return [run.deps[part], run.call.name, run.key, run.turn, run.call == current_call()]


def test_a_tool_gets_what_its_host_was_given_and_the_model_learns_nothing_of_it() -> None:
    tools = PythonTools([count], deps={"pin": 4})
    assert tools.surface.by_name["count"].parameters == signature_of(plain_count).definition.parameters
    effect = replace(call("count", part="pin"), key="k", turn=2)
    assert tools.run(effect) == ToolReturned(4, '[4,"count","k",2,true]')


def plain_count(part: str) -> None:
    """How many of a part are in stock."""


def test_a_model_cannot_put_a_context_of_its_own_in_place() -> None:
    tools = PythonTools([Tool.of(count, parameters={})], deps={"pin": 4})
    assert tools.run(call("count", part="pin", run={"deps": {"pin": 9}})).output.startswith("[4,")


def test_a_tool_can_find_out_that_nobody_waits_any_longer() -> None:
    found: Queue[tuple[bool, float | None]] = Queue()

    def hang(run: RunContext[None]) -> None:
        found.put((run.cancelled, run.seconds_left))
        while not run.cancelled:
            time.sleep(0.01)
        run.progress("too late")
        found.put((run.cancelled, run.seconds_left))

    heard: list[Progress] = []
    tools = PythonTools([hang], deadline=1, on_progress=heard.append)
    assert "hang did not return within 1 s" in tools.run(call("hang")).output
    cancelled, left = found.get(timeout=HANG)
    assert not cancelled
    assert left is not None
    assert 0 < left <= 1
    assert found.get(timeout=HANG) == (True, 0.0)
    assert heard == []


def test_progress_reaches_whoever_wants_it() -> None:
    def work(run: RunContext[None]) -> float | None:
        run.progress("half", done=1, total=2)
        run.progress()
        return run.seconds_left

    heard: list[Progress] = []
    assert PythonTools([work], deadline=None, on_progress=heard.append).run(call("work")).output == "null"
    told = CurrentCall("work", "call_a", "")
    assert heard == [Progress(told, "half", 1, 2), Progress(told, "")]
    assert PythonTools([work], deadline=None).run(call("work")).output == "null"


@in_and_out_of_a_thread
def test_what_the_model_is_not_told_is_kept_for_people(
    deadline: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    effect = replace(call("crash"), turn=3)
    PythonTools([crash], deadline=deadline).run(effect)
    (record,) = caplog.records
    assert record.getMessage() == "tool crash failed, call call_a of turn 3"
    assert "KeyError: 'room'" in caplog.text

    seen: list[tuple[CurrentCall, Exception]] = []
    tools = PythonTools([crash, refuse], deadline=deadline, on_error=lambda *told: seen.append(told))
    tools.run(effect)
    tools.run(call("refuse"))
    ((told, error),) = seen
    assert (told.turn, type(error)) == (3, KeyError)
    assert error.__traceback__ is not None


@pytest.mark.parametrize("flags", [{"idempotent": True}, {"read_only": True}])
def test_a_call_that_may_be_made_again_is_told_so_when_it_is_late(flags: ToolFlags) -> None:
    tools = PythonTools([Tool.of(wait, **flags)], deadline=0.02)
    assert tools.run(call("wait")) == failing(
        "TOOL_TIMEOUT",
        "wait did not return within 0.02 s. Calling it again with the same arguments does no harm.",
    )


def test_a_class_and_an_object_are_tools_like_functions() -> None:
    tools = PythonTools([Point, Tool.of(Shouting(), name="shout")])
    assert tools.run(call("Point", x=1)) == ToolReturned(4, '{"x":1}')
    assert tools.run(call("shout", text="a")) == ToolReturned(4, '"A"')


class Shouting:
    """Says it louder."""

    def __call__(self, text: str) -> str:
        return text.upper()


def test_arguments_are_values_of_their_types() -> None:
    def plan(day: date, at: Point) -> Mapping[str, object]:
        return {"day": f"{day:%A}", "x": at.x, "at": at}

    tools = PythonTools([plan])
    assert tools.run(call("plan", day="2026-11-22", at={"x": 1})) == ToolReturned(
        4, '{"day":"Sunday","x":1,"at":{"x":1}}'
    )
    assert tools.run(call("plan", day="22.11.", at={"x": 1})) == failing(
        "ARGUMENT_ERROR",
        '/day: expected a date such as "2026-11-22", got "22.11.". '
        "Call plan again with the corrected arguments.",
    )


@dataclass
class Point:
    x: int


REPORTED: Final[dict[str, Json]] = {"ok": False, "error": "No room."}
UNEXPLAINED: Final = "The tool failed without saying why. Try another way."
ENVELOPED: Final = {"ok": False, "errors": ["No room."]}


def report(value: dict[str, Any]) -> dict[str, Any]:
    """Return it."""
    return value


@pytest.mark.parametrize(
    ("ok_key", "value", "read"),
    [
        ("envelope", REPORTED, (True, REPORTED, [])),
        ("envelope", ENVELOPED, (False, {}, ["No room."])),
        ("failure", REPORTED, (False, {}, ["No room."])),
        ("failure", ENVELOPED, (False, {}, ["No room."])),
        ("failure", {"ok": True, "error": None}, (True, {"ok": True, "error": None}, [])),
        (
            "failure",
            {"ok": False, "error": {"code": "FULL", "message": "No."}, "left": 0, "data": 1},
            (False, {"left": 0, "data": 1}, ["No."]),
        ),
        ("failure", {"ok": False, "why": 1}, (False, {"why": 1}, [UNEXPLAINED])),
        ("data", REPORTED, (True, REPORTED, [])),
        ("data", ENVELOPED, (True, ENVELOPED, [])),
        ("data", {"ok": True, "data": {}}, (True, {"ok": True, "data": {}}, [])),
    ],
)
def test_how_ok_in_a_result_counts_is_up_to_the_tool(
    ok_key: OkKey, value: dict[str, Any], read: tuple[bool, Any, list[str]]
) -> None:
    returned = PythonTools([Tool.of(report, ok_key=ok_key)]).run(call("report", value=value))
    envelope = envelope_of("report", returned.output, limit=10_000)
    assert (envelope.ok, parse(envelope.data), [each.message for each in envelope.errors]) == read


@pytest.mark.parametrize(("ok_key", "ok"), [("failure", False), ("data", True)])
def test_it_counts_alike_in_a_process_of_its_own_and_in_an_async_host(ok_key: OkKey, ok: bool) -> None:
    async def reporting(value: dict[str, Any]) -> dict[str, Any]:
        return value

    effect = call("report", value=REPORTED)
    isolated = PythonTools([Tool.of(report, ok_key=ok_key, isolated=True)]).run(effect)
    tools = AsyncPythonTools([Tool.of(reporting, name="report", ok_key=ok_key)])
    assert anyio.run(tools.run, effect) == isolated
    assert envelope_of("report", isolated.output, limit=10_000).ok is ok


def test_a_tool_error_is_a_failure_whatever_ok_means() -> None:
    @tool(ok_key="data")
    def fail() -> int:
        raise ToolError("No.")

    assert not envelope_of("fail", PythonTools([fail]).run(call("fail")).output, limit=10_000).ok


def test_a_wrong_meaning_of_ok_is_said() -> None:
    wrong: Any = "never"
    told = complaint(ConfigError, lambda: Tool.of(report, ok_key=wrong))
    assert told == "ok_key: expected one of envelope, failure, data, got 'never'"
