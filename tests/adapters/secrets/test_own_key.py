"""The key of an endpoint, said back by its server: no record and no outcome has it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.adapters.secrets.stream_forms import FORMS
from tests.servers.chat_server import Answer, ChatServer, Seen, serving
from toolreel import Agent, FileJournal, Ports, Run, replay, resume, run
from toolreel._driver import Always, Later, secrets_of_ports
from toolreel._internal import EndpointConfigError, SecretFound
from toolreel._journal import read_journal
from toolreel._replay import Rehearsal
from toolreel.http import Address, HttpEndpoint
from toolreel.testing import calling, saying
from toolreel.tools import PythonTools, Router, Tool
from toolreel_core import LoopConfig, Plan, ToolreelError
from toolreel_core._replies import Delta

KEY = "plainkey"
"""It has no shape, and its variable no name that says what it is."""
ENVIRON = {"K": KEY}
PLAN = Plan.of(model="m", messages="hi")


class Echo:
    """Says the key back, in the way that a test sets."""

    def __init__(self) -> None:
        self.script: list[Answer] = []

    def __call__(self, _: Seen) -> Answer:
        return self.script.pop(0)


@pytest.fixture(scope="module")
def echo() -> Echo:
    return Echo()


@pytest.fixture(scope="module")
def server(echo: Echo) -> Generator[ChatServer]:
    with serving(answering=echo) as server:
        yield server


def plainly(status: int = 200) -> Answer:
    tree = saying(f"It is {KEY}.") if status == 200 else {"error": {"message": f"Incorrect: {KEY}"}}
    return Answer(json.dumps(tree).encode(), status, {"content-type": "application/json"})


ANSWERS: dict[str, Callable[[], Answer]] = {
    "an answer": plainly,
    "an error": lambda: plainly(401),
    "in frames": lambda: Answer(
        FORMS["interleaved calls"]([*KEY]).encode(), headers={"content-type": "text/event-stream"}
    ),
}
each_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=[*ANSWERS])


def on_disk(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if KEY.encode() in file.read_bytes()]


@contextmanager
def endpoint_of(kind: str, url: str) -> Generator[HttpEndpoint]:
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(headers={"authorization": f"Bearer {KEY}"}))
        match kind:
            case "httpx":
                yield stack.enter_context(HttpEndpoint(url, api_key_env="K", environ=ENVIRON))
            case _:
                yield stack.enter_context(HttpEndpoint(url, transport=client))


MASK = "[value of the header authorization]"


def unharmed(ended: Run, folder: Path) -> None:
    """The run has the reply, and neither it nor a file has the key."""
    assert ended.state.outcome is not None
    assert KEY not in f"{ended!r} {ended.outcome!r} {ended.text}"
    assert on_disk(folder) == []


@each_answer
@pytest.mark.parametrize("kind", ["httpx", "a client's own header"])
def test_neither_a_journal_nor_the_run_has_it(
    kind: str, answer: Callable[[], Answer], echo: Echo, server: ChatServer, tmp_path: Path
) -> None:
    echo.script = [answer()]
    path = tmp_path / "run.journal.jsonl"
    with endpoint_of(kind, server.url) as endpoint, FileJournal(path, PLAN) as journal:
        unharmed(run(PLAN, Ports(endpoint, Router({"a.": PythonTools()})), journal=journal), tmp_path)
    assert MASK in path.read_text("utf-8")


def test_an_agent_that_records_says_why_it_failed(echo: Echo, server: ChatServer, tmp_path: Path) -> None:
    echo.script = [plainly(401)]
    path = tmp_path / "run.yaml"
    ended = Agent("m", base_url=server.url, api_key=KEY).run("hi", record=path)
    unharmed(ended, tmp_path)
    with pytest.raises(ToolreelError, match=re.escape(f"HTTP 401: Incorrect: {MASK}")):
        ended.raise_for_outcome()
    assert replay(path).run.outcome == ended.outcome


def test_what_streams_is_masked_as_it_comes(echo: Echo, server: ChatServer) -> None:
    pieces = ["It is ", "plain", "key", ", it", " is p"]
    frames = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    events = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n"
    echo.script = [Answer(events.encode(), headers={"content-type": "text/event-stream"})]
    plan = Plan.of(model="m", messages="hi", config=LoopConfig(stream="always"))
    deltas: list[Delta] = []
    with HttpEndpoint(server.url, api_key=KEY, on_delta=deltas.append) as endpoint:
        ended = run(plan, endpoint)
    assert "".join(delta.text for delta in deltas) == ended.text == f"It is {MASK}, it is p"


def test_a_key_in_a_url_is_in_no_error_of_the_network() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError(f"lost {request.url}")

    url = f"http://nowhere.invalid?api-key={KEY}"
    with HttpEndpoint(url, transport=httpx.MockTransport(fail)) as endpoint:
        ended = run(PLAN, endpoint)
    assert "lost http://nowhere.invalid/v1/chat/completions?api-key=[value of" in repr(ended.outcome)
    assert KEY not in repr(ended.outcome)


def paused(server: ChatServer, echo: Echo, path: Path) -> Tool:
    """A run that waits for an approval, in a journal."""
    tool = Tool.of(lambda: "done", name="act", description="Act.", needs_approval=True)
    echo.script = [
        Answer(json.dumps(calling(("act", {}))).encode(), 200, {"content-type": "application/json"})
    ]
    plan = Plan.of(model="m", messages="hi", tools=[tool.definition])
    with HttpEndpoint(server.url) as endpoint, FileJournal(path, plan) as journal:
        run(plan, Ports(endpoint, PythonTools([tool]), Later()), journal=journal)
    return tool


@each_answer
def test_nor_has_a_resumed_run(
    answer: Callable[[], Answer], echo: Echo, server: ChatServer, tmp_path: Path
) -> None:
    path = tmp_path / "run.journal.jsonl"
    tool = paused(server, echo, path)
    echo.script = [answer()]
    with HttpEndpoint(server.url, api_key_env="K", environ=ENVIRON) as endpoint:
        unharmed(resume(path, Ports(endpoint, PythonTools([tool]), Always())), tmp_path)


def test_a_plan_with_the_key_does_not_stay_on_disk(server: ChatServer, tmp_path: Path) -> None:
    plan = Plan.of(model="m", messages=f"my key is {KEY}")
    with (
        HttpEndpoint(server.url, api_key_env="K", environ=ENVIRON) as endpoint,
        FileJournal(tmp_path / "run.journal.jsonl", plan) as journal,
        pytest.raises(SecretFound, match=r"line 1: not written, it holds .* at plan\.messages\[0\]"),
    ):
        run(plan, Ports(endpoint, PythonTools()), journal=journal)
    assert [*tmp_path.iterdir()] == []


def test_values_of_the_environment_are_known_to_a_journal_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OWN_TOKEN", "quite-plain")
    plan = Plan.of(model="m", messages="say quite-plain")
    with pytest.raises(SecretFound, match="value of OWN_TOKEN"):
        FileJournal(tmp_path / "run.journal.jsonl", plan)
    with FileJournal(tmp_path / "run.journal.jsonl", plan, known_secrets={}):
        pass
    assert not [*tmp_path.iterdir()][1:]


def test_whatever_wraps_an_endpoint_says_what_it_sends(
    server: ChatServer, echo: Echo, tmp_path: Path
) -> None:
    path = tmp_path / "run.journal.jsonl"
    paused(server, echo, path)
    with HttpEndpoint(server.url, api_key_env="K", environ=ENVIRON) as endpoint:
        ports = Ports(endpoint, PythonTools())
        rehearsal = Rehearsal(read_journal(path), endpoint=endpoint)
        assert secrets_of_ports(ports) == secrets_of_ports(rehearsal) == {"the header authorization": KEY}
    assert secrets_of_ports(object()) == {}


class _Sends:
    def __init__(self, **secrets: str) -> None:
        self.secrets = secrets


def test_two_parts_with_a_secret_of_one_name_both_count() -> None:
    parts = (_Sends(key="a", own="b"), _Sends(key="a"), _Sends(key="c"))
    assert secrets_of_ports(*parts) == {"key": "a", "own": "b", "key (3)": "c"}


IN_URL = f"?api-key={KEY}&api-version=1"


BROKEN = ("http://[::1", "http://host:eighty", "ftp://host", "http://host/ a", "host")


@pytest.mark.parametrize("url", BROKEN)
def test_a_key_in_a_url_stands_in_no_error(url: str) -> None:
    with pytest.raises(EndpointConfigError) as caught, HttpEndpoint(f"{url}{IN_URL}"):
        pass
    assert KEY not in str(caught.value)


def test_nor_does_it_in_a_repr_or_a_log(
    server: ChatServer, echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert "api-version=1" in repr(Address.of(f"http://host/v1{IN_URL}", None))
    assert KEY not in repr(Address.of(f"http://host/v1{IN_URL}", None))
    echo.script = [plainly()]
    # A client of the user's logs each request; the endpoint's own transport does not.
    with httpx.Client() as client, HttpEndpoint(f"{server.url}/v1{IN_URL}", transport=client) as endpoint:
        run(PLAN, Ports(endpoint, PythonTools()))
    assert any("api-key=REDACTED" in message for message in caplog.messages)
    assert KEY not in caplog.text
