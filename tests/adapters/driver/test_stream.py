"""A streamed run is the run: the same journal and bytes, on every endpoint, wherever its reader stops."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    closing,
)
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from hypothesis import settings

from tests.adapters.driver.immediate import ImmediateEndpoint
from tests.adapters.http.test_endpoint_contract import Scene, alive, live, scripted, taped
from tests.patience import NEVER
from tests.servers.chat_server import serving
from tests.servers.chat_server import streaming as streamed_answer
from toolreel import (
    Always,
    AsyncPorts,
    AsyncPythonTools,
    Completed,
    LoopConfig,
    Plan,
    Ports,
    PythonTools,
    ReplayMismatch,
    astream,
    run,
    stream,
    stream_on,
    tool,
)
from toolreel._driver import STREAM_CLOSED
from toolreel.http import HttpEndpoint
from toolreel.journals import MemoryJournal, parse_journal
from toolreel.ports import AsyncEndpoint, Endpoint, InstantClock
from toolreel.results import Resting
from toolreel.stream_events import (
    NoteMade,
    ReasoningDelta,
    RunEnded,
    StreamEvent,
    TextDelta,
    TextWithdrawn,
    ToolCallDelta,
    ToolResult,
    ToolStarted,
)
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying, streaming
from toolreel_core import CancelRequested, ReplyReceived, SendRequest
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import fold
from toolreel_core._protocol import Settled


def look(at: str) -> str:
    """Look at something."""
    return f"{at} is there"


def frames(*deltas: Json, finish: str) -> list[str]:
    choices: list[Json] = [{"index": 0, "delta": delta} for delta in deltas]
    last: Json = {"index": 0, "delta": {}, "finish_reason": finish}
    return [*(f"data: {canonical({'choices': [one]})}\n\n" for one in (*choices, last)), "data: [DONE]\n\n"]


def call(index: int, at: str) -> list[Json]:
    head: Json = {"index": index, "id": f"call_{index}", "function": {"name": "look", "arguments": ""}}
    pieces = ('{"at":', canonical(at), "}")
    rest: list[Json] = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [entry]} for entry in (head, *rest)]


CALLS = frames(
    {"reasoning_content": "Look."}, {"content": "Let me "}, {"content": "look."},
    *call(0, "a"), *call(1, "b"),
    finish="tool_calls",
)  # fmt: skip
AS_TEXT = frames(
    {"content": '<tool_call>{"name": "look",'}, {"content": ' "arguments": {"at": "c"}}</tool_call>'},
    finish="stop",
)  # fmt: skip
ANSWER = frames({"content": "All "}, {"content": "there."}, finish="stop")
BODIES = (CALLS, AS_TEXT, ANSWER)
CONFIG = LoopConfig(stream="always", text_dialects=("marked",), parallel_tools=True)
TOOLS = (tool(read_only=True)(look),)
PLAN = Plan.of(model="m", messages="Look.", tools=PythonTools(TOOLS).surface, config=CONFIG)


def scene_at(path: Path) -> Scene:
    def use(endpoint: Endpoint) -> None:
        run(PLAN, Ports(endpoint, PythonTools(TOOLS)))

    return Scene(path, [streamed_answer(*body) for body in BODIES], use, stops=True)


@asynccontextmanager
async def immediate(scene: Scene) -> AsyncGenerator[AsyncEndpoint]:
    with scripted(scene) as endpoint:
        yield ImmediateEndpoint(endpoint)


Reader: TypeAlias = Callable[[Path, MemoryJournal, int | None], list[StreamEvent]]
"""Reads a stream to its end, or stops after this many events."""


def sync(opened: Callable[[Scene], AbstractContextManager[Endpoint]]) -> Reader:
    def read(path: Path, journal: MemoryJournal, stop: int | None) -> list[StreamEvent]:
        with (
            opened(scene_at(path)) as endpoint,
            closing(stream(PLAN, Ports(endpoint, PythonTools(TOOLS)), journal=journal)) as events,
        ):
            return [*islice(events, stop)]

    return read


def on(backend: str, opened: Callable[[Scene], AbstractAsyncContextManager[AsyncEndpoint]]) -> Reader:
    def read(path: Path, journal: MemoryJournal, stop: int | None) -> list[StreamEvent]:
        async def reading() -> list[StreamEvent]:
            seen: list[StreamEvent] = []
            async with opened(scene_at(path)) as endpoint:
                ports = AsyncPorts(endpoint, AsyncPythonTools(TOOLS))
                async with aclosing(astream(PLAN, ports, journal=journal)) as events:
                    async for event in events:
                        seen.append(event)
                        if len(seen) == stop:
                            break
            return seen

        return anyio.run(reading, backend=backend)

    return read


READERS: dict[str, Reader] = {
    "scripted": sync(scripted),
    "http": sync(live),
    "taped": sync(taped),
    **{f"immediate on {backend}": on(backend, immediate) for backend in ("asyncio", "trio")},
    **{f"http on {backend}": on(backend, alive) for backend in ("asyncio", "trio")},
}
QUICK = ("scripted", "immediate on asyncio", "immediate on trio")
"""Those without a server."""
PACE = max(1, 400 // settings().max_examples)
"""Of the others, every sixteenth event has to do, and in `make nightly` none is left out."""
every_endpoint = pytest.mark.parametrize(
    "read", [pytest.param(one, id=name) for name, one in READERS.items()]
)


def plainly() -> MemoryJournal:
    """The journal of the run that nobody streams."""
    journal, script = MemoryJournal(PLAN), ["".join(body) for body in BODIES]
    run(PLAN, Ports(ScriptedEndpoint(script), PythonTools(TOOLS)), journal=journal)
    return journal


@every_endpoint
def test_a_streamed_run_shows_everything_and_records_what_a_run_records(read: Reader, tmp_path: Path) -> None:
    journal = MemoryJournal(PLAN)
    seen = read(tmp_path / "session.yaml", journal, None)
    assert journal.text == plainly().text
    shown = [event for event in seen if not isinstance(event, NoteMade | RunEnded)]
    assert shown == EXPECTED
    ended = seen[-1]
    assert isinstance(ended, RunEnded)
    assert ended.run.outcome == Completed("All there.")
    assert [event.note for event in seen if isinstance(event, NoteMade)] == [*ended.run.notes]


EXPECTED: list[StreamEvent] = [
    ReasoningDelta(1, "Look."),
    TextDelta(1, "Let me "),
    TextDelta(1, "look."),
    *(
        ToolCallDelta(1, index, f"call_{index}", "look", piece)
        for index, at in enumerate("ab")
        for piece in ("", '{"at":', canonical(at), "}")
    ),
    ToolStarted(1, "call_0", "look", canonical({"at": "a"})),
    ToolStarted(1, "call_1", "look", canonical({"at": "b"})),
    ToolResult(1, "call_0", "look", '"a is there"'),
    ToolResult(1, "call_1", "look", '"b is there"'),
    TextDelta(2, '<tool_call>{"name": "look",'),
    TextDelta(2, ' "arguments": {"at": "c"}}</tool_call>'),
    TextWithdrawn(2, ""),
    ToolStarted(2, "call_2_0", "look", canonical({"at": "c"})),
    ToolResult(2, "call_2_0", "look", '"c is there"'),
    TextDelta(3, "All "),
    TextDelta(3, "there."),
]


@pytest.mark.parametrize(
    ("read", "pace"),
    [pytest.param(one, 1 if name in QUICK else PACE, id=name) for name, one in READERS.items()],
)
@pytest.mark.filterwarnings("error")
def test_a_reader_may_stop_after_any_event(read: Reader, pace: int, tmp_path: Path) -> None:
    """The request is closed, the journal says so, and begins like that of the whole run."""
    whole = plainly().text.splitlines()
    count = len(read(tmp_path / "whole.yaml", MemoryJournal(PLAN), None))
    for stop in range(2, count + 1, pace):
        journal = MemoryJournal(PLAN)
        assert len(read(tmp_path / f"{stop}.yaml", journal, stop)) == stop
        lines = journal.text.splitlines()
        events = [record.event for record in parse_journal(journal.text).records]
        if lines != whole:
            assert events[-1] == CancelRequested(STREAM_CLOSED)
            assert lines[:-1] == whole[: len(lines) - 1]
        assert isinstance(fold(PLAN, events).state.phase, Settled)
    gc.collect()


def test_what_was_shown_of_a_request_that_is_sent_again_is_withdrawn() -> None:
    plan = Plan.of(model="m", messages="hi", config=LoopConfig(stream="always"))
    endpoint = ScriptedEndpoint([streaming("Hal", finish=""), Lost("timeout", "slow"), streaming("Hello.")])
    seen = stream(plan, Ports(endpoint, PythonTools(), clock=InstantClock()))
    shown = [event for event in seen if isinstance(event, TextDelta | TextWithdrawn)]
    assert shown == [TextDelta(1, "Hal"), TextWithdrawn(1, ""), TextDelta(1, "Hello.")]


def test_what_remains_of_a_text_beside_a_call_is_told() -> None:
    called = '<tool_call>{"name": "look", "arguments": {"at": "a"}}</tool_call>'
    script = ScriptedEndpoint([streaming("Let me look. ", called), saying("Done.")])
    seen = [*stream(PLAN, Ports(script, PythonTools(TOOLS)))]
    (withdrawn,) = [event for event in seen if isinstance(event, TextWithdrawn)]
    assert (withdrawn.turn, withdrawn.text.strip()) == (1, "Let me look.")


def test_a_reply_that_was_not_streamed_is_shown_as_a_whole() -> None:
    plan = Plan.of(model="m", messages="hi")
    seen = [*stream(plan, Ports(ScriptedEndpoint([saying("Hello.")]), PythonTools()))]
    assert [event for event in seen if isinstance(event, TextDelta)] == [TextDelta(1, "Hello.")]


def test_a_run_that_waits_for_an_approval_ends_its_stream_and_is_gone_on_with() -> None:
    tools = PythonTools([tool(needs_approval=True)(look)])
    plan = Plan.of(model="m", messages="hi", tools=tools.surface)
    journal = MemoryJournal(plan)
    script = ScriptedEndpoint([calling(("look", {"at": "a"})), saying("Done.")])
    *_, rests = stream(plan, Ports(script, tools), journal=journal)
    assert isinstance(rests, RunEnded)
    assert isinstance(rests.run.outcome, Resting)
    assert "cancel" not in journal.text
    *shown, ends = stream_on(rests.run.state, Ports(script, tools, Always()), journal=journal)
    assert [type(one) for one in shown if not isinstance(one, NoteMade)] == [
        ToolStarted,
        ToolResult,
        TextDelta,
    ]
    assert isinstance(ends, RunEnded)
    assert ends.run.outcome == Completed("Done.")


def test_an_error_of_the_reader_cancels_the_run_and_one_of_the_run_does_not() -> None:
    plan = Plan.of(model="m", messages="hi")
    journal = MemoryJournal(plan)

    def read() -> None:
        for _ in stream(plan, Ports(ScriptedEndpoint([saying("Hi.")]), PythonTools()), journal=journal):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read()
    gc.collect()
    assert parse_journal(journal.text).records[-1].event == CancelRequested(STREAM_CLOSED)
    journal = MemoryJournal(plan)
    with pytest.raises(ReplayMismatch):
        list(stream(plan, Ports(ScriptedEndpoint([]), PythonTools()), journal=journal))
    assert parse_journal(journal.text).records == ()


def test_ctrl_c_while_a_tool_runs_cancels_the_run() -> None:
    def stopped() -> str:
        """Be interrupted."""
        raise KeyboardInterrupt

    tools = PythonTools([stopped])
    plan = Plan.of(model="m", messages="hi", tools=tools.surface)
    journal = MemoryJournal(plan)
    with pytest.raises(KeyboardInterrupt):
        list(stream(plan, Ports(ScriptedEndpoint([calling(("stopped", {}))]), tools), journal=journal))
    assert parse_journal(journal.text).records[-1].event == CancelRequested(STREAM_CLOSED)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_task_cancels_the_run(backend: str) -> None:
    plan = Plan.of(model="m", messages="hi")
    journal = MemoryJournal(plan)

    class Silent:
        def __init__(self, scope: anyio.CancelScope) -> None:
            self._scope = scope

        async def send(self, effect: SendRequest) -> ReplyReceived:
            self._scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError(effect)

    async def reading() -> None:
        with anyio.CancelScope() as scope:
            ports = AsyncPorts(Silent(scope), AsyncPythonTools())
            async with aclosing(astream(plan, ports, journal=journal)) as events:
                async for _ in events:
                    pass

    anyio.run(reading, backend=backend)
    assert parse_journal(journal.text).records[-1].event == CancelRequested(STREAM_CLOSED)


def test_a_journal_that_cannot_take_the_cancellation_says_so() -> None:
    class Full:
        def record(self, effect: object, event: object) -> None:  # noqa: ARG002 - of the port
            raise OSError("disk full")

    plan = Plan.of(model="m", messages="hi")
    events = stream(plan, Ports(ScriptedEndpoint([saying("Hi.")]), PythonTools()), journal=Full())
    next(events)
    with pytest.warns(RuntimeWarning, match="disk full"):
        events.close()


def test_calls_that_all_have_the_index_0_are_told_apart_by_their_ids() -> None:
    entries: list[Json] = [
        {"tool_calls": [{"index": 0, "id": id_, "function": {"name": "look", "arguments": '{"at":"x"}'}}]}
        for id_ in ("one", "two")
    ]
    script = ScriptedEndpoint(["".join(frames(*entries, finish="tool_calls")), saying("Done.")])
    seen = [one for one in stream(PLAN, Ports(script, PythonTools(TOOLS))) if isinstance(one, ToolCallDelta)]
    assert {(one.index, one.call_id, one.name) for one in seen} == {(0, "one", "look"), (1, "two", "look")}


CHAT = Plan.of(model="m", messages="hi", config=LoopConfig(stream="always"))
PIECES = frames({"content": "a"}, {"content": "b"}, {"content": "c"}, finish="stop")


def test_a_piece_is_shown_before_the_next_one_is_sent() -> None:
    with (
        serving(streamed_answer(PIECES[0], NEVER)) as server,
        HttpEndpoint(server.url) as endpoint,
        closing(stream(CHAT, Ports(endpoint, PythonTools()))) as events,
    ):
        assert next(event for event in events if isinstance(event, TextDelta)).text == "a"
