"""Journals out of cassettes alone, our own and those of other clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import OpenAI

from tests.replay.sessions import CASSETTES as SESSIONS
from tests.replay.sessions import REMOTE
from tests.samples import complaint
from tests.servers.chat_server import Answer, chunk, replying, serving
from toolreel._cli import LiveSession, LiveTarget
from toolreel._internal import JournalError
from toolreel._journal import Recorded, journal_path, read_journal
from toolreel._replay import RecoveredRun, recover_runs, replay
from toolreel.cassette import Session, StoredResponse, use_cassette
from toolreel.demo import workspace
from toolreel.testing import calling, saying
from toolreel.tools import PythonTools, Tool, ToolError
from toolreel_core._errors import ReplayMismatch
from toolreel_core._plan import Plan
from toolreel_core._protocol import Cancelled, Completed

CASSETTES = Path(__file__).resolve().parents[4] / "cassettes"
WEATHER: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.yaml"


def told(path: Path, **choices: Any) -> tuple[RecoveredRun, ...]:  # noqa: ANN401 - whatever recover_runs takes
    return recover_runs(Session(path), **choices)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.parent.name)
def test_the_cassette_and_the_plan_are_enough_for_the_journal_of_the_live_run(path: Path) -> None:
    recorded = read_journal(journal_path(path))
    (one,) = told(path, plans=[recorded.plan])
    assert one.recorded.text == recorded.text
    if recorded.plan.tools.definitions:
        (one,) = told(path, plans=[recorded.plan], tools=PythonTools(workspace()))
        assert one.recorded.text == recorded.text


@pytest.mark.parametrize("path", REMOTE, ids=lambda path: path.parent.name)
def test_what_tools_elsewhere_said_is_told_as_the_model_heard_it(path: Path) -> None:
    """An envelope of theirs that says no more than its data comes back as the data alone."""
    recorded = read_journal(journal_path(path))
    (one,) = told(path, plans=[recorded.plan])
    assert [record.fp for record in one.recorded.records] == [record.fp for record in recorded.records]


def stock(part: str) -> int:
    """How many of a part are in stock."""
    if part == "gone":
        raise ToolError("NO_SUCH_PART", "There is none.")
    return {"pin": 4}[part]


def test_what_tools_of_every_kind_have_said_is_found_in_the_requests(path: Path) -> None:
    calls = [calling(("stock", {"part": part})) for part in ("pin", "gone", "shim")]
    script = [replying(reply) for reply in (*calls, saying("There are 4."))]
    plan = Plan.of(model="m", messages="How many?", tools=PythonTools([stock]).surface)
    approved = Plan.of(
        model="m", messages="How many?", tools=PythonTools([Tool.of(stock, needs_approval=True)]).surface
    )
    with serving(*script, Answer(raw=b""), *script[-1:]) as server:
        LiveSession(LiveTarget(server.url), [stock]).run(plan, path)
        again = path.with_name("again.yaml")
        LiveSession(LiveTarget(server.url)).run(Plan.of(model="m", messages="hi"), again)
    assert told(path, plans=[plan])[0].recorded.text == read_journal(journal_path(path)).text
    assert [type(event).__name__ for event in told(path, plans=[approved])[0].recorded.events][1:3] == [
        "ApprovalGiven",
        "ToolReturned",
    ]
    (retried,) = told(again, plans=[read_journal(journal_path(again)).plan])
    assert retried.recorded.text == read_journal(journal_path(again)).text


def converse(path: Path, script: Sequence[Answer], talk: Callable[[OpenAI], object]) -> None:
    """Record a session of the openai SDK."""
    with (
        serving(*script) as server,
        use_cassette(path, "record") as session,
        httpx2.Client(transport=session.httpx2_transport()) as http,
    ):
        talk(OpenAI(base_url=f"{server.url}/v1", api_key="none", http_client=http, max_retries=0))


def looking_up(client: OpenAI) -> None:
    """A tool loop of somebody's own, who writes results as they come."""
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Is it warm in Oslo?"}]}]
    while True:
        reply = client.chat.completions.create(
            model="m",
            messages=messages,
            tools=WEATHER,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            temperature=0,
        )
        message = reply.choices[0].message
        if not message.tool_calls:
            return
        messages.append(message.model_dump())
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "Warm in Oslo: 21 degrees"}
            for call in message.tool_calls
        ]


LOOKS_UP = replying(calling(("weather", {"city": "Oslo"})))
WARM = replying(saying("Yes, 21 degrees."))


def test_a_tool_loop_of_another_client_gets_a_journal(path: Path) -> None:
    converse(path, [LOOKS_UP, WARM], looking_up)
    (one,) = told(path)
    assert one.run.outcome == Completed("Yes, 21 degrees.")
    assert one.recorded.plan.tools.names == ("weather",)
    assert json.loads(one.recorded.plan.options) == {"temperature": 0}
    assert one.recorded.text.splitlines()[2].count("Warm in Oslo: 21 degrees") == 1
    alone = path.with_name("alone.journal.jsonl")
    alone.write_text(one.recorded.text)
    assert replay(alone).run == one.run


def test_a_client_that_goes_on_after_a_call_that_repeats_itself_gets_a_journal(path: Path) -> None:
    """The loop would have stopped at the fifth; what another client did is told to its end."""
    converse(path, [*[LOOKS_UP] * 7, WARM], looking_up)
    (one,) = told(path)
    assert one.run.outcome == Completed("Yes, 21 degrees.")


def test_sessions_in_one_cassette_are_runs_of_their_own() -> None:
    (path,) = (CASSETTES / "openai-sdk").glob("*.yaml")
    first, second = told(path)
    assert (first.run.outcome, second.run.outcome) == (Completed("Oslo"), Completed("Stockholm"))
    assert (first.first, first.last, second.first, second.last) == (1, 1, 2, 2)
    assert len(second.recorded.plan.messages) == 3
    (path,) = (CASSETTES / "pydantic-ai").glob("*.yaml")
    (only,) = told(path)
    assert only.run.outcome == Completed('{ "city": "Paris", "country": "France" }')
    assert '"response_format"' in only.recorded.plan.options


URL = "http://a.test/v1/chat/completions"
IS_WARM: dict[str, Any] = {"role": "user", "content": "Is it warm?"}


def taped(path: Path, *exchanges: tuple[object, object], status: int = 200) -> None:
    """Make a cassette with these requests and responses: bodies of JSON, or texts; none is for the models."""
    tape = Session(path, "record")
    for bodies in exchanges:
        asked, said = (body if isinstance(body, str) else json.dumps(body) for body in bodies)
        url = URL if bodies[0] else "http://a.test/v1/models"
        tape.append("POST", url, {}, asked.encode(), StoredResponse(status, "", (), said.encode()))
    tape.save({})


def asking(*messages: object, **further: object) -> dict[str, object]:
    return {"model": "m", "messages": [*messages], "tools": WEATHER, **further}


def calls(call_id: str, arguments: str) -> dict[str, Any]:
    function = {"name": "weather", "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_a_client_that_asks_no_further_ends_its_run(path: Path) -> None:
    slow = {"error": {"message": "Slow down."}}
    asked = [asking({"role": "user", "content": word}) for word in ("a", "b")]
    taped(path, *((each, slow) for each in asked), status=429)
    assert [one.run.outcome for one in told(path)] == [Cancelled("the recorded client asked no further")] * 2


def test_streams_and_other_endpoints_are_no_hindrance(path: Path) -> None:
    streamed = f"{chunk('Hel')}{chunk('lo', 'stop')}data: [DONE]\n\n"
    asked = asking({"role": "developer", "content": "hi"}, stream=True)
    taped(path, ("", {"data": []}), (asked, streamed))
    (one,) = told(path)
    assert (one.run.outcome, one.first, one.last) == (Completed("Hello"), 2, 2)


@pytest.mark.parametrize(("method", "further"), [("GET", ""), ("GET", "/c-1/messages"), ("POST", "/c-1")])
def test_nor_is_a_request_about_a_stored_completion(method: str, further: str, path: Path) -> None:
    answer = StoredResponse(200, "", (), json.dumps(saying("hi")).encode())
    tape = Session(path, "record")
    tape.append("POST", f"{URL}/", {}, json.dumps(asking(IS_WARM)).encode(), answer)
    tape.append(method, f"{URL}{further}", {}, b"", answer)
    tape.save({})
    assert len(told(path)) == 1


def test_another_history_is_drift(path: Path) -> None:
    """A client that tells the model something else than it has said."""
    result = {"role": "tool", "tool_call_id": "other", "content": '{"degrees": 21}'}
    other = asking(IS_WARM, calls("call_1", '{"city":"Rome"}'), result)
    taped(path, (asking(IS_WARM), calling(("weather", {"city": "Oslo"}))), (other, saying("Yes.")))
    said = complaint(ReplayMismatch, lambda: told(path))
    assert (
        "session.yaml: interaction 2 is not what the reducer asks for:\nfirst change: messages[1].calls"
        in said
    )
    assert 'recorded: "Rome"\n  request:  "Oslo"' in said
    assert "interaction 1 is not" in complaint(ReplayMismatch, lambda: told(path, exact=True))


def test_calls_that_were_written_as_text_need_what_reads_them() -> None:
    path = next(path for path in SESSIONS if path.parent.name == "workspace")
    said = complaint(ReplayMismatch, lambda: told(path))
    assert "interaction 2 has results of tools, but the reducer's run has ended before it" in said
    (one,) = told(path, settings={"text_dialects": ("json_fenced",)})
    assert isinstance(one.run.outcome, Completed)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": []}, "interaction 1: not the body of a chat-completions request"),
        (
            asking({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
            "interaction 1: messages[0].content[0]: url: expected a URL",
        ),
        (asking({"role": "user", "content": 7}), "messages[0].content: expected a text, got int"),
        ("", "holds no chat completion"),
        (asking({"role": "critic"}), "messages[0].role: expected one of system, developer, user"),
        (
            {"messages": [IS_WARM], "tools": [7]},
            "interaction 1: not a function that a model may call",
        ),
    ],
)
def test_what_no_run_can_hold_is_named_with_its_place(body: object, said: str, path: Path) -> None:
    taped(path, (body, saying("hi")))
    assert said in complaint(JournalError, lambda: told(path))


def test_more_than_the_plan_asks_for_is_drift() -> None:
    (path,) = (CASSETTES / "openai-sdk").glob("*.yaml")
    recorded: Recorded = told(path)[0].recorded
    said = complaint(ReplayMismatch, lambda: told(path, plans=[recorded.plan], exact=False))
    assert said.endswith("the last run has ended, but interaction 2 was recorded too")


def test_a_result_that_is_missing_asks_for_the_tools(path: Path) -> None:
    two = calling(("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}))
    result = {"role": "function", "name": "weather", "content": "21"}
    taped(path, (asking(IS_WARM), two), (asking(IS_WARM, calls("x", "{}"), result), saying("Yes.")))
    said = complaint(JournalError, lambda: told(path))
    assert 'interaction 2 holds no result of weather({"city":"Rome"}); run the tools for real' in said
