"""Secrets of every kind in every place of real sessions: none reaches the disk, not even for a moment."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.adapters.secrets.planted import INNOCENT, KINDS, Planted
from tests.adapters.secrets.stream_forms import FORMS
from tests.samples import complaint
from tests.servers.chat_server import Answer, ChatServer, Seen, chunk, serving
from toolreel._cli import EndedRun, LiveSession, LiveTarget
from toolreel._internal import SecretFound
from toolreel._replay import replay
from toolreel._secrets import encoded_spellings
from toolreel.cassette import use_cassette
from toolreel.testing import calling, saying
from toolreel.tools import Tool
from toolreel_core import Plan
from toolreel_core._jsontext import Json

JSON = {"content-type": "application/json"}
SOME = [*KINDS.values()][::9]
"""Those that are tried in every place; each of the others has its turn in one."""
OWN = "plainlookingkey7"
"""The key of these tests' client, which has no shape."""
each_kind = pytest.mark.parametrize("planted", KINDS.values(), ids=[*KINDS])


class Provider:
    """A real server, whose answers a test sets."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.on_request: Callable[[], None] = lambda: None

    def __call__(self, _: Seen) -> Answer:
        self.on_request()
        return self.script.pop(0)


@pytest.fixture(scope="module")
def provider() -> Provider:
    return Provider()


@pytest.fixture(scope="module")
def server(provider: Provider) -> Generator[ChatServer]:
    with serving(answering=provider) as server:
        yield server


@pytest.fixture(scope="module")
def network() -> Generator[httpx.HTTPTransport]:
    with httpx.HTTPTransport(verify=False) as transport:
        yield transport


def replying(tree: Json, status: int = 200, headers: Mapping[str, str] = JSON) -> Answer:
    return Answer(json.dumps(tree).encode(), status, {**JSON, **headers})


def on_disk(folder: Path, secret: str) -> list[str]:
    """The files in which a secret stands, however it is written."""
    forms = [form.encode() for form in encoded_spellings(secret)]
    forms.append(base64.b64encode(secret.encode()))
    return [
        str(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and any(form in file.read_bytes() or form.decode() in file.name for form in forms)
    ]


def in_header(text: str) -> str:
    return text.replace("\n", " ")


@each_kind
def test_what_says_who_a_client_is_is_dropped_or_masked_and_the_session_kept(
    planted: Planted, provider: Provider, server: ChatServer, network: httpx.HTTPTransport, tmp_path: Path
) -> None:
    path = tmp_path / "kept" / "session.yaml"
    secret = in_header(planted.secret)
    said = {"set-cookie": f"id={secret}", "x-key": secret, "x-request-id": in_header(planted.text)}
    provider.script = [replying(saying("fine"), headers=said)] * 4
    with use_cassette(path, "record", known_secrets={}) as session:
        client = httpx.Client(transport=session.transport(network))
        ask = server.url + "/v1/chat/completions"
        body = {"messages": [{"role": "user", "content": "hi"}]}
        for headers in (
            {"authorization": f"Bearer {secret}", "x-api-key": secret},
            {"cookie": secret, "x-anything": secret},
        ):
            client.post(ask, json=body, headers=headers)
        for name in ("key", "access_token"):
            client.post(ask, json=body, params={name: secret, "limit": "5"})
    assert "limit=5" in path.read_text()
    assert on_disk(tmp_path, secret) == []


def refused(path: Path, network: httpx.HTTPTransport, url: str, *bodies: bytes, **known: str) -> str:
    """Why a session with these requests was not saved."""

    def record() -> None:
        with use_cassette(path, "record", known_secrets=known) as session:
            client = httpx.Client(transport=session.transport(network), headers={"x-api-key": OWN})
            for body in bodies:
                client.post(url + "/v1/chat/completions", content=body)

    return complaint(SecretFound, record)


def messages(*further: Json) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}, *further]}).encode()


def arguments(planted: Planted) -> str:
    return json.dumps({"command": f"curl {planted.text} now"})


def tool_call(planted: Planted) -> Json:
    function: Json = {"name": "shell", "arguments": arguments(planted)}
    return {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def pieces_of(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def in_pieces(text: str) -> bytes:
    return "".join(map(chunk, pieces_of(text))).encode() + chunk(None, "stop").encode()


ASKING: dict[str, Callable[[Planted], bytes]] = {
    "request.body.messages[1].content": lambda it: messages({"role": "user", "content": f"see: {it.text}"}),
    "request.body.messages[1].tool_calls[0].function.arguments": lambda it: messages(tool_call(it)),
    "request.body.messages[1].content[0].text": lambda it: messages(
        {"role": "tool", "content": [{"type": "text", "text": json.dumps({"stdout": f"\n{it.text}\n"})}]}
    ),
    "request.body, line": lambda it: f"plain {it.text}".encode(),
}
ANSWERING: dict[str, Callable[[Planted], Answer]] = {
    "response.body.choices[0].message.content": lambda it: replying(saying(f"It is\n{it.text}")),
    "response.body.choices[0].message.tool_calls[0].function.arguments": lambda it: replying(
        calling(("shell", {"command": f"echo {it.text} "}))
    ),
    "response.body.error.message": lambda it: replying({"error": {"message": f"Wrong: {it.text}"}}, 401),
    "response.body, put together": lambda it: Answer(
        in_pieces(f"It is {it.text} ."), headers={"content-type": "text/event-stream"}
    ),
    "response.body.x": lambda it: Answer(
        gzip.compress(json.dumps({"x": it.text}).encode()), headers={**JSON, "content-encoding": "gzip"}
    ),
    "response.body.z": lambda it: Answer(zlib.compress(json.dumps({"z": it.text}).encode()), headers=JSON),
    "response.body.u": lambda it: Answer(json.dumps({"u": it.text}).encode("utf-16-le"), headers=JSON),
    "response.body, put": lambda it: Answer(
        FORMS["Ollama"](pieces_of(f"It is {it.text} .")).encode(),
        headers={"content-type": "application/x-ndjson"},
    ),
}


@each_kind
def test_a_secret_in_a_body_is_refused_with_its_place_and_the_old_file_stays(
    planted: Planted, provider: Provider, server: ChatServer, network: httpx.HTTPTransport, tmp_path: Path
) -> None:
    path = tmp_path / "session.yaml"
    fine = replying(saying("fine"))
    cases: list[tuple[str, bytes, Answer]] = [
        *((place, make(planted), fine) for place, make in ASKING.items()),
        *((place, messages(), make(planted)) for place, make in ANSWERING.items()),
    ]
    path.write_text("the old one")
    turn = [*KINDS.values()].index(planted) % len(cases)
    for place, body, answer in cases if planted in SOME else [cases[turn]]:
        provider.script = [fine, answer]
        said = refused(path, network, server.url, messages(), body)
        assert f"{path}: interaction 2: {place}" in said, place
        assert planted.secret not in said
        assert on_disk(tmp_path, planted.secret) == []
        assert path.read_text() == "the old one"
        assert [file.name for file in tmp_path.iterdir()] == [path.name]


def shell(output: str) -> Tool:
    """A tool that says this, whatever it is asked."""

    def run(command: str) -> str:
        return output if command else ""

    return Tool.of(run, name="shell", description="Run a command.")


def live(server: ChatServer, path: Path, prompt: str = "hi", output: str = "") -> EndedRun:
    tool = shell(output)
    plan = Plan.of(model="m", messages=prompt, tools=[tool.definition])
    return LiveSession(LiveTarget(server.url), [tool]).run(plan, path)


@each_kind
def test_a_secret_in_a_run_reaches_neither_cassette_nor_journal_while_it_goes_on(
    planted: Planted, provider: Provider, server: ChatServer, tmp_path: Path
) -> None:
    path, found = tmp_path / "run.yaml", list[str]()
    provider.on_request = lambda: found.extend(on_disk(tmp_path, planted.secret))
    leaking = replying(calling(("shell", {"command": f"echo {planted.text} "})))
    told, ready = replying(saying(f"It is {planted.text}")), replying(saying("fine"))
    asked = replying(calling(("shell", {"command": "ls"})))
    cases = {"event.body": [told]}
    if planted in SOME:
        cases["event.body.choices[0].message.tool_calls[0].function.arguments"] = [leaking, ready]
    try:
        for place, script in cases.items():
            provider.script = [*script]
            ended = live(server, path)
            assert ended.run.completed == (script == [told]), "a call that is not recorded is not made"
            assert isinstance(ended.refused, SecretFound)
            assert f" at {place}" in str(ended.refused)
            assert planted.secret not in str(ended.refused)
        with pytest.raises(SecretFound, match=r"line 1: not written, it holds .* at plan\.messages\[0\]"):
            live(server, path, f"see {planted.text}")
        assert [*tmp_path.iterdir()] == []
        provider.script = [asked, ready]
        ended = live(server, path, output=f"out {planted.text}\n")
    finally:
        provider.on_request = lambda: None
    assert found == []
    assert (ended.run.completed, ended.refused) == (True, None)
    assert on_disk(tmp_path, planted.secret) == []
    assert replay(path).run == ended.run, "the run went on with what is recorded"


VALUE = 'pâss "word"/with+signs 1'


@pytest.mark.parametrize("form", encoded_spellings(VALUE), ids=str)
def test_a_value_of_the_environment_is_refused_in_whatever_form(
    form: str, provider: Provider, server: ChatServer, network: httpx.HTTPTransport, tmp_path: Path
) -> None:
    provider.script = [replying(saying(f"It is <{form}>"))]
    said = refused(tmp_path / "a.yaml", network, server.url, messages(), DB_PASSWORD=VALUE)
    assert "value of DB_PASSWORD" in said
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("form", encoded_spellings(OWN), ids=str)
def test_a_key_that_the_server_tells_back_is_masked_in_a_cassette(
    form: str, provider: Provider, server: ChatServer, network: httpx.HTTPTransport, tmp_path: Path
) -> None:
    provider.script = [replying({"error": f"Incorrect key: {form}"}, 401, {"retry-after": form})]
    with use_cassette(tmp_path / "a.yaml", "record", known_secrets={}) as session:
        client = httpx.Client(transport=session.transport(network), headers={"x-api-key": OWN})
        client.post(server.url + "/v1/chat/completions", content=messages())
    assert "Incorrect key: [value of the header x-api-key]" in (tmp_path / "a.yaml").read_text("utf-8")
    assert on_disk(tmp_path, OWN) == []


def test_a_client_that_fails_on_its_way_leaves_nothing_with_a_secret(
    provider: Provider, server: ChatServer, network: httpx.HTTPTransport, tmp_path: Path
) -> None:
    planted = KINDS["an OpenAI key"]
    provider.script = [replying(saying(planted.text))]
    with (
        suppress(ZeroDivisionError),
        use_cassette(tmp_path / "a.yaml", "record", known_secrets={}) as session,
    ):
        client = httpx.Client(transport=session.transport(network))
        client.post(server.url + "/v1/chat/completions", content=messages())
        raise ZeroDivisionError
    assert [*tmp_path.iterdir()] == []


def test_what_only_looks_like_a_secret_is_recorded(
    provider: Provider, server: ChatServer, network: httpx.HTTPTransport, tmp_path: Path
) -> None:
    path = tmp_path / "session.yaml"
    provider.script = [
        replying(saying("\n".join(INNOCENT))),
        *(replying(calling(("shell", {"command": text}))) for text in INNOCENT),
    ]
    with use_cassette(path, "record", known_secrets={}) as session:
        client = httpx.Client(transport=session.transport(network), headers={"authorization": "Bearer x"})
        for text in ("", *INNOCENT):
            client.post(
                server.url + "/v1/chat/completions", content=messages({"role": "user", "content": text})
            )
    assert path.exists()
    provider.script = [replying(calling(("shell", {"command": "ls"}))), replying(saying("\n".join(INNOCENT)))]
    ended = live(server, tmp_path / "run.yaml", "\n".join(INNOCENT), "\n".join(INNOCENT))
    assert ended.refused is None
