"""Programs whose next step depends on a header do the same plain, while recording, and in the replay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeAlias

import httpx
import httpx2
import openai
import pytest

from tests.servers.chat_server import Answer, ChatServer, Seen, serving
from toolreel.cassette import Session, use_cassette

SIGNED = "X-Amz-Signature=8f14e45fceea167a5a36dedd4bea2543"
COMPLETION = b'{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
JSON = {"Content-Type": "application/json"}

READ = {
    "content-disposition": 'attachment; filename="a.txt"',
    "x-ratelimit-remaining-tokens": "7",
    "anthropic-ratelimit-tokens-reset": "soon",
    "request-id": "req_1",
    "x-request-id": "req_2",
    "operation-location": "/v1/new",
    "openai-poll-after-ms": "5",
    "x-next-page": "2",
    "x-total-pages": "2",
}

Program: TypeAlias = Callable[[httpx.Client], object]


class Site:
    """What a server answers; it remembers how often it was asked for what."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, asked: Seen) -> Answer:
        self.asked.append(asked.path)
        sent = {name.lower(): value for name, value in asked.headers.items()}
        match asked.path.partition("?")[0].removeprefix("/v1"):
            case "/old":
                return Answer(b"", 302, {"Location": "/v1/new"})
            case "/download":
                return Answer(b"", 307, {"Location": f"/v1/files/a?{SIGNED}"})
            case "/pages":
                number = int(asked.path.rpartition("=")[2]) if "=" in asked.path else 1
                further = {"Link": f'</v1/pages?page={number + 1}>; rel="next"'} if number < 3 else {}
                return Answer(b"%d" % number, headers=further)
            case "/cached":
                fresh = sent.get("if-none-match") == '"v1"'
                return Answer(b"" if fresh else b"body", 304 if fresh else 200, {"ETag": '"v1"'})
            case "/login":
                return Answer(b"{}", headers={"Set-Cookie": "session=0123456789abcdef; Path=/; HttpOnly"})
            case "/private":
                challenge = {"WWW-Authenticate": 'Digest realm="a", nonce="0123456789abcdef", qop="auth"'}
                return Answer(b"in") if "authorization" in sent else Answer(b"", 401, challenge)
            case "/read":
                return Answer(b"{}", headers=READ)
            case "/chat/completions":
                return self._completion(asked)
            case _:
                return Answer(b"new")

    def _completion(self, asked: Seen) -> Answer:
        model = "busy" if b'"busy"' in asked.body else "stop" if b'"stop"' in asked.body else "again"
        if model == "stop":
            return Answer(b"{}", 503, {**JSON, "x-should-retry": "false"})
        if self.asked.count(asked.path) > 1:
            return Answer(COMPLETION, headers=JSON)
        if model == "busy":
            return Answer(b"{}", 429, {**JSON, "retry-after": "30", "retry-after-ms": "20"})
        return Answer(b"{}", 418, {**JSON, "x-should-retry": "true", "retry-after-ms": "20"})


def pages(client: httpx.Client) -> list[str]:
    response = client.get("/v1/pages")
    found = [response.text]
    while "next" in response.links:
        response = client.get(response.links["next"]["url"])
        found.append(response.text)
    return found


def conditional(client: httpx.Client) -> list[int]:
    first = client.get("/v1/cached")
    again = client.get("/v1/cached", headers={"if-none-match": first.headers.get("etag", "")})
    return [first.status_code, again.status_code]


def logged_in(client: httpx.Client) -> list[str]:
    client.get("/v1/login")
    return [*client.cookies]


PROGRAMS: dict[str, tuple[Program, object]] = {
    "a redirect": (lambda client: client.get("/v1/old").text, "new"),
    "a redirect to a signed URL": (lambda client: client.get("/v1/download").text, "new"),
    "pages by their links": (pages, ["1", "2", "3"]),
    "a conditional request": (conditional, [200, 304]),
    "a cookie": (logged_in, ["session"]),
    "digest authentication": (
        lambda client: client.get("/v1/private", auth=httpx.DigestAuth("me", "pw")).text,
        "in",
    ),
    "headers that are read": (
        lambda client: {name: client.get("/v1/read").headers.get(name) for name in READ},
        READ,
    ),
}


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def server(site: Site) -> Generator[ChatServer]:
    with serving(answering=site) as server:
        yield server


def performed(program: Program, transport: httpx.BaseTransport, url: str) -> object:
    with httpx.Client(transport=transport, base_url=url, follow_redirects=True) as client:
        return program(client)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same_plain_recording_and_replaying(
    name: str, server: ChatServer, site: Site, path: Path
) -> None:
    program, done = PROGRAMS[name]
    assert performed(program, httpx.HTTPTransport(), server.url) == done
    plain, site.asked = site.asked, []
    with use_cassette(path, "record") as session:
        assert performed(program, session.transport(), server.url) == done
    assert site.asked == plain
    with use_cassette(path) as session:
        assert performed(program, session.transport(), server.url) == done
    text = path.read_text()
    assert "8f14e45f" not in text
    assert "session=0123456789abcdef" not in text


def complete(client: openai.OpenAI, model: str) -> str:
    try:
        return str(client.chat.completions.create(model=model, messages=[]).choices[0].message.content)
    except openai.APIStatusError as error:
        return str(error.status_code)


def by_sdk(session: Session, url: str, model: str) -> str:
    with httpx2.Client(transport=session.httpx2_transport()) as http:
        return complete(openai.OpenAI(base_url=f"{url}/v1", api_key="none", http_client=http), model)


@pytest.mark.parametrize(
    ("model", "requests", "said"), [("busy", 2, "hi"), ("stop", 1, "503"), ("again", 2, "hi")]
)
def test_the_openai_sdk_retries_as_the_server_says_and_in_the_replay_too(
    model: str, requests: int, said: str, server: ChatServer, site: Site, path: Path
) -> None:
    with use_cassette(path, "record") as session:
        assert by_sdk(session, server.url, model) == said
    assert len(site.asked) == requests
    with use_cassette(path) as session:
        assert by_sdk(session, server.url, model) == said


def test_a_secret_in_a_header_is_masked_in_the_file_alone(path: Path) -> None:
    def echoing(asked: Seen) -> Answer:
        said = {"x-request-id": "for open-sesame-42", "etag": f"{asked.headers['x-api-key']}"}
        return Answer(b"{}", headers=said)

    def etags(session: Session, url: str) -> list[str]:
        with httpx.Client(transport=session.transport(), headers={"x-api-key": "sesame-open-90bc"}) as client:
            got = [client.get(f"{url}/v1/models") for _ in range(2)]
        return [response.headers[name] for response in got for name in ("x-request-id", "etag")]

    known = {"WORD": "open-sesame-42"}
    with serving(answering=echoing) as server, use_cassette(path, "record", known_secrets=known) as session:
        assert etags(session, server.url) == ["for open-sesame-42", "sesame-open-90bc"] * 2
    assert "sesame" not in path.read_text()
    with use_cassette(path) as session:
        assert etags(session, "http://a.test") == ["for REDACTED", "[value of the header x-api-key]"] * 2


def get(transport: httpx.BaseTransport | None, url: str) -> str:
    with httpx.Client(transport=transport) as client:
        return client.get(url).text


async def aget(transport: httpx.AsyncBaseTransport, url: str) -> str:
    async with httpx.AsyncClient(transport=transport) as client:
        return (await client.get(url)).text


def test_the_proxy_of_the_environment_is_used_as_a_plain_client_does(
    server: ChatServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(answering=lambda _: Answer(b"proxy")) as proxy, use_cassette(path, "record") as session:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for url, said in ((f"{server.url}/v1/new", "new"), ("http://far.invalid/v1/models", "proxy")):
            assert get(None, url) == said
            assert get(session.transport(), url) == said
            assert asyncio.run(aget(session.async_transport(), url)) == said
