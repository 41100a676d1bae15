"""Every request has an answer in the client's form, an entry in the log and a count."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path

from tests.adapters.proxy.test_chat import ASKED, saying
from tests.servers.chat_server import serving
from tests.servers.proxy_server import ProxyServer, proxying, served
from toolreel._internal import listening_socket
from toolreel.proxy import ProxyLimits, ProxySettings, Route, proxy_app
from toolreel_core._plan import Preset

BODY = {"model": "m", "messages": ASKED}


def counts(proxy: ProxyServer, **headers: str) -> dict[tuple[str, str], int]:
    """How many requests were counted, by kind and status."""
    text = httpx.get(f"{proxy.url.removesuffix('/v1')}/metrics", headers=headers).text
    found = re.findall(r'requests_total\{kind="(\w+)",status="(\d+)"\} (\d+)', text)
    return {(kind, status): int(count) for kind, status, count in found}


def test_what_is_refused_is_logged_and_counted() -> None:
    with serving(saying("Four.")) as server:
        routes, limits = (Route(server.url, model="m"),), ProxyLimits(request_bytes=1_000)
        settings = ProxySettings(routes, limits=limits, token="shown")  # noqa: S106 - no secret
        shown = {"authorization": "Bearer shown"}
        with proxying(settings) as proxy:
            url = f"{proxy.url}/chat/completions"
            httpx.post(url, json=BODY)
            httpx.post(url, content="x" * 2_000, headers=shown)
            httpx.post(url, content="[]", headers=shown)
            httpx.post(url, json={**BODY, "model": "other"}, headers=shown)
            httpx.get(url, headers=shown)
            httpx.post(url, json=BODY, headers=shown)
            counted = counts(proxy, **shown)
    told = [(entry["model"], entry["status"], entry.get("problem")) for entry in proxy.log]
    assert told == [
        ("", 401, "no_token"),
        ("", 413, "request_too_large"),
        ("", 400, "invalid_request"),
        ("other", 404, "model_not_found"),
        ("", 405, "method_not_allowed"),
        ("m", 200, None),
    ]
    assert [entry.get("path") for entry in proxy.log] == ["/v1/chat/completions"] * 5 + [None]
    assert counted == {
        ("plain", "200"): 1,
        **{("refused", status): 1 for status in ("400", "401", "404", "405", "413")},
    }


async def models(request: Request) -> Response:
    """A list for those who show a key."""
    if "authorization" not in request.headers:
        return JSONResponse({"error": {"message": "No key."}}, 401)
    return JSONResponse({"data": [{"id": "m"}]})


def test_a_list_of_models_without_a_key_is_an_error_that_says_so() -> None:
    with (
        served(Starlette(routes=[Path("/v1/models", models)])) as upstream,
        proxying(ProxySettings((Route(upstream),))) as proxy,
        proxying(ProxySettings((Route(upstream, api_key_env="A_KEY_THAT_IS_NOT_SET"),))) as keyless,
    ):
        denied = httpx.get(f"{proxy.url}/models")
        listed = httpx.get(f"{proxy.url}/models", headers={"authorization": "Bearer mine"})
        unset = [httpx.get(f"{keyless.url}/models"), httpx.post(f"{keyless.url}/chat/completions", json=BODY)]
        counted = counts(proxy)
    assert (denied.status_code, denied.json()["error"]["message"]) == (401, "HTTP 401: No key.")
    assert [model["id"] for model in listed.json()["data"]] == ["m"]
    for response in unset:
        assert (response.status_code, response.json()["error"]["code"]) == (502, "proxy_misconfigured")
        assert "A_KEY_THAT_IS_NOT_SET is not set" in response.json()["error"]["message"]
    assert counted == {("models", "200"): 1, ("models", "401"): 1}
    assert [entry["status"] for entry in proxy.log] == [401, 200]


@pytest.mark.parametrize(
    "path", ["/v1/embeddings", "/", "/v1/v1/chat/completions", "/v1/models/m", "/v1/messages/batches"]
)
def test_other_paths_name_those_that_exist(path: str) -> None:
    with serving() as server, proxying(ProxySettings((Route(server.url),))) as proxy:
        response = httpx.post(f"{proxy.url.removesuffix('/v1')}{path}")
    said = response.json()
    error = said["error"]
    assert (response.status_code, error["code"]) == (404, "unknown_path")
    if path.startswith("/v1/messages"):  # in the form of Anthropic
        assert (said["type"], error["type"]) == ("error", "not_found_error")
    assert "POST /v1/chat/completions, /v1/responses, /v1/messages; GET /v1/models" in error["message"]
    assert [(entry["path"], entry["status"]) for entry in proxy.log] == [(path, 404)]


def broken(_model: str) -> Preset:
    raise RuntimeError("nobody has thought of this")


@pytest.mark.parametrize("path", ["chat/completions", "models"])
def test_what_nobody_has_thought_of_is_an_error_with_a_traceback_in_the_log(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving() as server, proxying(ProxySettings((Route(server.url, preset=broken),))) as proxy:
        method = "POST" if path.startswith("chat") else "GET"
        content: dict[str, Any] = {"json": BODY} if method == "POST" else {}
        response = httpx.request(method, f"{proxy.url}/{path}", **content)
        counted = counts(proxy)
    assert (response.status_code, response.json()["error"]["code"]) == (500, "proxy_failed")
    assert "nobody" not in response.text
    (entry,) = proxy.log
    assert (entry["status"], entry["problem"]) == (500, "proxy_failed")
    assert [status for _, status in counted] == ["500"]
    (record,) = [each for each in caplog.records if each.name == "toolreel.proxy" and each.exc_info]
    assert record.exc_info
    assert isinstance(record.exc_info[1], RuntimeError)


def test_what_a_connection_names_stays_here() -> None:
    headers = [
        ("connection", "close, X-Hop"),
        ("x-hop", "of this connection"),
        ("openai-beta", "one"),
        ("openai-beta", "two"),
        ("x-trace", "a"),
    ]
    with serving(saying("Four.")) as server, proxying(ProxySettings((Route(server.url),))) as proxy:
        httpx.post(f"{proxy.url}/chat/completions", json=BODY, headers=headers)
    seen = server.seen[0].headers
    assert [seen.get(name) for name in ("x-hop", "openai-beta", "x-trace")] == [None, "one, two", "a"]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    "hosts", [["localhost", "evil.example"], ["localhost", "localhost"], ["evil.example"]]
)
async def test_a_request_is_addressed_to_this_machine_once_whatever_server_reads_it(hosts: list[str]) -> None:
    app = proxy_app(ProxySettings((Route("http://nowhere.invalid"),), hosts=("localhost",)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        headers = [("host", host) for host in hosts]
        refused = await client.get("http://localhost/v1/models", headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "foreign_host")


# The socket of a proxy: what is written to a client goes out at once.


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_answers_do_not_wait_for_acknowledgements() -> None:
    """The head and the body of an answer are two writes; the second must not wait for the first (Nagle)."""
    at_once = asyncio.get_running_loop().create_future()

    def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        at_once.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(connected, sock=listening_socket("127.0.0.1", 0)) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await at_once
        writer.close()
