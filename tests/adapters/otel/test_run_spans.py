"""Spans of runs, on every driver: what they are called, whose children they are, what is on them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage
from opentelemetry import context as otel_context
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from tests.adapters.driver.immediate import ImmediateEndpoint
from tests.adapters.otel.telemetry import context_of, instrumented, told
from tests.servers.chat_server import replying, serving
from toolreel import (
    Agent,
    AsyncPorts,
    AsyncPythonTools,
    Plan,
    Ports,
    PythonTools,
    arun,
    astream,
    go_on,
    run,
    speak,
    stream,
    tool,
)
from toolreel._driver import WATCHERS, Always, InstantClock
from toolreel._journal import MemoryJournal, parse_journal
from toolreel._replay import Rehearsal
from toolreel.durable import DurableRuns, Worker
from toolreel.http import HttpEndpoint
from toolreel.otel import instrument, labelled, uninstrument
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel_core import LoopConfig, ReplayMismatch

RUN, CHAT, ADD = "invoke_agent", "chat m", "execute_tool add"
TREE = [(RUN, ""), (CHAT, RUN), (ADD, RUN), (ADD, RUN), (CHAT, RUN)]
SCRIPT = [calling(("add", {"a": 2, "b": 40}), ("add", {"a": 1, "b": 1})), saying("It is 42.")]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS = PythonTools([add])


def plan(**options: Any) -> Plan:  # noqa: ANN401 - those of a plan
    return Plan.of(model="m", messages="What is 2 + 40?", **{"tools": TOOLS.surface, **options})


STREAMED = LoopConfig(stream="always")


def ports() -> Ports:
    return Ports(ScriptedEndpoint(SCRIPT), TOOLS)


def async_ports() -> AsyncPorts:
    return AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(SCRIPT)), AsyncPythonTools([add]))


def on_run() -> None:
    run(plan(), ports())


def on_arun() -> None:
    asyncio.run(arun(plan(), async_ports()))


def on_stream() -> None:
    assert [*stream(plan(config=STREAMED), ports())]


def on_astream() -> None:
    async def streamed() -> None:
        assert [event async for event in astream(plan(config=STREAMED), async_ports())]

    asyncio.run(streamed())


@pytest.mark.parametrize("drive", [on_run, on_arun, on_stream, on_astream])
def test_each_driver_gives_a_tree_of_spans(drive: Callable[[], None]) -> None:
    with instrumented() as heard:
        drive()
    assert heard.parents() == TREE
    assert [span.kind for span in heard.named(CHAT)] == [SpanKind.CLIENT] * 2
    assert {span.status.status_code for span in heard.spans} == {StatusCode.UNSET}
    ran = dict(told(heard.one(RUN)))
    assert len(str(ran.pop("toolreel.run"))) == 12
    assert ran == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 0,
        "gen_ai.usage.output_tokens": 0,
        "toolreel.outcome": "completed",
        "toolreel.replayed": False,
        "toolreel.tool_calls": 2,
        "toolreel.turns": 2,
    }


def test_a_tool_call_says_what_was_called() -> None:
    with instrumented() as heard:
        on_run()
    first, second = heard.named(ADD)
    assert first.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "call_a",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Add two numbers.",
        "toolreel.ref": 2,
        "toolreel.turn": 1,
    }
    assert told(second)["gen_ai.tool.call.id"] == "call_b"


def test_a_request_over_http_says_where_it_went_and_what_came() -> None:
    reply: Any = {
        "id": "chatcmpl-7",
        "model": "m-2026",
        "choices": [{"message": {"role": "assistant", "content": "42"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    }
    with instrumented() as heard, serving(replying(reply)) as server, HttpEndpoint(server.url) as endpoint:
        run(plan(tools=PythonTools([]).surface, options={"temperature": 0, "max_tokens": 9}), Ports(endpoint))
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    assert heard.one(CHAT).attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.id": "chatcmpl-7",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 16,
        "gen_ai.usage.reasoning.output_tokens": 3,
        "server.address": "127.0.0.1",
        "server.port": port,
        "toolreel.ref": 1,
        "toolreel.turn": 1,
    }
    points = heard.points()
    (duration,) = points["gen_ai.client.operation.duration"]
    assert told(duration) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-2026",
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    assert duration.explicit_bounds[0] == 0.01
    assert duration.explicit_bounds[-1] == 81.92
    counted = {told(p)["gen_ai.token.type"]: p.sum for p in points["gen_ai.client.token.usage"]}
    assert counted == {"input": 20, "output": 5}
    assert [point.count for point in points["gen_ai.invoke_agent.duration"]] == [1]


def test_a_failed_request_and_its_retry_are_two_spans_and_the_note_is_an_event() -> None:
    script: list[Any] = [Lost("timeout", "no answer to Bearer abcdefgh1234"), saying("Hi.")]
    with instrumented() as heard:
        run(plan(), Ports(ScriptedEndpoint(script), TOOLS, clock=InstantClock()))
    failed, answered = heard.named(CHAT)
    assert told(failed)["error.type"] == "timeout"
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "timeout")
    assert answered.status.status_code == StatusCode.UNSET
    planned = next(event for event in failed.events if event.name == "toolreel.retry_planned")
    assert told(planned)["toolreel.attempt"] == 1
    assert "abcdefgh" not in "".join(span.to_json() for span in heard.spans)
    errors = {
        str(told(point).get("error.type")) for point in heard.points()["gen_ai.client.operation.duration"]
    }
    assert errors == {"None", "timeout"}


def test_repairs_nudges_and_rejected_calls_are_events_of_the_request() -> None:
    broken = calling(("add", {"a": 1}))
    with instrumented() as heard:
        run(plan(), Ports(ScriptedEndpoint([broken, saying("Sorry.")]), TOOLS))
    names = {event.name for event in heard.named(CHAT)[0].events}
    assert "toolreel.call_rejected" in names
    assert not [event for span in heard.spans for event in span.events if "toolreel.message" in told(event)]


def test_a_run_that_fails_is_an_error_with_the_outcomes_name() -> None:
    with instrumented() as heard:
        run(plan(config=LoopConfig(max_turns=1)), ports())
    ran = heard.one(RUN)
    assert (told(ran)["error.type"], ran.status.status_code) == ("max_turns", StatusCode.ERROR)


def test_a_tool_that_fails_has_the_code_of_its_error_and_no_message() -> None:
    def fail() -> None:
        """Fail."""
        raise ValueError("the secret is out")

    tools = PythonTools([fail], on_error=lambda *_: None)
    with instrumented() as heard:
        run(plan(tools=tools.surface), Ports(ScriptedEndpoint([calling(("fail", {})), saying("Oh.")]), tools))
    span = heard.one("execute_tool fail")
    assert (told(span)["error.type"], span.status.description) == ("INTERNAL_ERROR",) * 2
    assert "secret" not in span.to_json()


def test_an_exception_ends_all_spans() -> None:
    with instrumented() as heard, pytest.raises(ReplayMismatch):
        run(plan(), Ports(ScriptedEndpoint([]), TOOLS))
    assert {(span.name, told(span)["error.type"]) for span in heard.spans} == {
        (CHAT, "ReplayMismatch"),
        (RUN, "ReplayMismatch"),
    }


def test_a_stream_that_nobody_reads_to_its_end_was_cancelled_and_is_no_error() -> None:
    with instrumented() as heard:
        events = stream(plan(config=STREAMED), ports())
        next(events)
        events.close()
    ran = heard.one(RUN)
    assert (told(ran)["toolreel.outcome"], ran.status.status_code) == ("cancelled", StatusCode.UNSET)


def test_a_stream_leaks_no_context_to_whoever_reads_it() -> None:
    with instrumented():
        before = otel_context.get_current()
        for _ in stream(plan(config=STREAMED), ports()):
            assert otel_context.get_current() == before


def test_a_streamed_reply_has_the_time_of_its_first_piece() -> None:
    with instrumented() as heard:
        on_stream()
    for span in heard.named(CHAT):
        assert 0 <= told(span)["gen_ai.response.time_to_first_chunk"] < 300
        assert told(span)["gen_ai.request.stream"] is True
    assert sum(p.count for p in heard.points()["gen_ai.client.operation.time_to_first_chunk"]) == 2


def journal_text() -> str:
    journal = MemoryJournal(plan())
    run(plan(), ports(), journal=journal)
    return journal.text


def test_a_replay_says_so_and_is_in_no_metric() -> None:
    recorded = parse_journal(journal_text(), "memory")
    with instrumented() as heard:
        Rehearsal(recorded).play(plan())
    assert heard.parents() == TREE
    assert all(told(span)["toolreel.replayed"] is True for span in heard.spans)
    assert heard.points() == {}


def test_a_run_that_rests_and_goes_on_has_two_spans() -> None:
    tools = PythonTools([tool(needs_approval=True)(add)])
    endpoint = ScriptedEndpoint([calling(("add", {"a": 1, "b": 2})), saying("3")])
    with instrumented() as heard:
        rested = run(plan(tools=tools.surface), Ports(endpoint, tools))
        go_on(rested.state, Ports(endpoint, tools, Always()))
    first, second = heard.named(RUN)
    assert told(first)["toolreel.outcome"] == "resting"
    assert first.status.status_code == StatusCode.UNSET
    assert "toolreel.approval_asked" in {event.name for span in heard.spans for event in span.events}
    assert told(second)["toolreel.outcome"] == "completed"
    assert [told(ran)["toolreel.tool_calls"] for ran in (first, second)] == [0, 1]


def test_an_exchange_of_a_conversation_counts_its_own_turns() -> None:
    talk = Ports(ScriptedEndpoint([saying("Hi."), saying("Bye.")]), TOOLS)
    with instrumented() as heard, labelled(conversation="c-17", attributes={"tenant": "t1"}):
        speak(run(plan(), talk), "And now?", talk)
    for ran in heard.named(RUN):
        assert told(ran)["toolreel.turns"] == 1
        assert told(ran)["gen_ai.conversation.id"] == "c-17"
        assert told(ran)["tenant"] == "t1"


def test_what_tools_do_is_inside_their_spans_in_threads_and_tasks() -> None:
    with instrumented() as heard:
        tracer = heard.provider.get_tracer("tool")

        def look(part: str) -> str:
            """Look."""
            with tracer.start_as_current_span(f"sql {part}"):
                return part

        async def alook(part: str) -> str:
            """Look."""
            await asyncio.sleep(0)
            with tracer.start_as_current_span(f"sql {part}"):
                return part

        script = [calling(("look", {"part": "a"}), ("look", {"part": "b"})), saying("Done.")]
        parallel = LoopConfig(parallel_tools=True)
        tools = PythonTools([tool(read_only=True)(look)])
        with heard.provider.get_tracer("app").start_as_current_span("caller"):
            run(plan(tools=tools.surface, config=parallel), Ports(ScriptedEndpoint(script), tools))
            atools = AsyncPythonTools([tool(read_only=True, name="look")(alook)])
            awaited = AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(script)), atools)
            asyncio.run(arun(plan(tools=atools.surface, config=parallel), awaited))
        assert not get_current_span().is_recording()
    assert len({context_of(span).trace_id for span in heard.spans}) == 1
    calls = {
        context_of(span).span_id: told(span)["gen_ai.tool.call.id"]
        for span in heard.named("execute_tool look")
    }
    assert len(calls) == 4
    for part, call in (("a", "call_a"), ("b", "call_b")):
        inside = [span.parent.span_id for span in heard.named(f"sql {part}") if span.parent]
        assert [calls[parent] for parent in inside] == [call, call]
    assert [parent for name, parent in heard.parents() if name == RUN] == ["caller"] * 2


def test_an_agent_as_a_tool_is_a_run_inside_the_call() -> None:
    inner = Agent("small", endpoint=ScriptedEndpoint([saying("4")]))
    outer = Agent(
        "m",
        endpoint=ScriptedEndpoint([calling(("count", {"prompt": "pins?"})), saying("There are 4.")]),
        tools=[inner.as_tool("count", "Count.")],
    )
    with instrumented() as heard, labelled("clerk", conversation="c-1"):
        outer.run("How many pins?")
    assert heard.parents() == [
        ("invoke_agent clerk", ""),
        (CHAT, "invoke_agent clerk"),
        ("execute_tool count", "invoke_agent clerk"),
        (RUN, "execute_tool count"),
        ("chat small", RUN),
        (CHAT, "invoke_agent clerk"),
    ]
    assert told(heard.one(RUN))["gen_ai.conversation.id"] == "c-1"


def test_a_durable_run_has_a_span_with_its_name_and_goes_on_with_the_trace_of_its_submitter(
    tmp_path: Path,
) -> None:
    """All that goes from one to the other is in the database; of the baggage, nothing does."""
    database = f"sqlite:///{tmp_path / 'runs.db'}"
    with instrumented() as heard:
        tracer, config = heard.provider.get_tracer("app"), LoopConfig(parallel_tools=True)
        with tracer.start_as_current_span("caller") as caller, DurableRuns(database) as runs:
            token = otel_context.attach(baggage.set_baggage("user", "ana"))
            runs.submit(plan(config=config), "sum-1")
            otel_context.detach(token)
        worker = Worker(ports(), database, poll_seconds=0.02)
        with worker, DurableRuns(database) as runs:
            assert runs.wait("sum-1", 300, poll_seconds=0.02).summary.status == "ended"
    assert sorted(heard.parents()) == sorted([("caller", ""), (RUN, "caller"), *TREE[1:]])
    ran = told(heard.one(RUN))
    assert (ran["toolreel.run"], ran["gen_ai.conversation.id"]) == ("sum-1", "sum-1")
    assert (ran["toolreel.outcome"], ran["toolreel.turns"]) == ("completed", 2)
    assert {context_of(span).trace_id for span in heard.spans} == {caller.get_span_context().trace_id}
    with closing(sqlite3.connect(tmp_path / "runs.db")) as stored:
        (headers,) = stored.execute("SELECT trace FROM toolreel_runs").fetchone()
    assert json.loads(headers).keys() == {"traceparent"}


def test_instrumenting_twice_gives_one_span_a_run_and_uninstrumenting_none() -> None:
    before = [*WATCHERS]
    with instrumented() as heard:
        instrument(tracer_provider=heard.provider)
        on_run()
        assert len(heard.named(RUN)) == 1
        uninstrument()
        on_run()
        assert len(heard.named(RUN)) == 1
    assert before == WATCHERS


def test_the_same_run_is_made_with_and_without_spans() -> None:
    with instrumented():
        traced = journal_text()
    assert traced == journal_text()
