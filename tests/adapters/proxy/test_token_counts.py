"""Tokens are counted by an upstream that speaks Messages; any other has an error that says why not."""

from __future__ import annotations

import anthropic
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as At

from tests.servers.proxy_server import proxying, served
from toolreel.proxy import Limits, ProxySettings, Route
from toolreel_core._settings import WireForm

ASKED = [{"role": "user", "content": "How many?"}]


def upstream(answer: Response, heard: list[tuple[str, object, str]]) -> Starlette:
    """A server that counts."""

    async def count(request: Request) -> Response:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "")
        heard.append((request.url.path, await request.json(), key.removeprefix("Bearer ")))
        return answer

    return Starlette(routes=[At("/v1/messages/count_tokens", count, methods=["POST"])])


def routes(url: str, form: WireForm = "messages") -> tuple[Route, ...]:
    settings = {"wire_form": form}
    return (Route(url, model="m", upstream_model="large", settings=settings),)


def test_anthropics_sdk_is_told_the_count() -> None:
    heard: list[tuple[str, object, str]] = []
    with (
        served(upstream(JSONResponse({"input_tokens": 7}), heard)) as url,
        proxying(ProxySettings(routes(url))) as proxy,
        anthropic.Anthropic(base_url=proxy.url.removesuffix("/v1"), api_key="sk-mine") as client,
    ):
        counted = client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "How many?"}])
    assert counted.input_tokens == 7
    assert heard == [("/v1/messages/count_tokens", {"model": "large", "messages": ASKED}, "sk-mine")]
    assert [(entry["path"], entry["model"], entry["status"]) for entry in proxy.log] == [
        ("/v1/messages/count_tokens", "m", 200)
    ]


@pytest.mark.parametrize(
    ("settings", "body", "status", "code"),
    [
        ({"form": "chat_completions"}, {"model": "m", "messages": ASKED}, 400, "tokens_not_counted"),
        ({"form": "responses"}, {"model": "m", "messages": ASKED}, 400, "tokens_not_counted"),
        ({}, {"model": "other", "messages": ASKED}, 404, "model_not_found"),
        ({}, {"model": "m", "messages": []}, 400, "invalid_request"),
        ({}, {"model": "m", "messages": [{"role": "user", "content": "a" * 999}]}, 413, "request_too_large"),
        ({}, {"model": "m", "messages": ASKED}, 502, "upstream_unreachable"),
    ],
)
def test_what_is_not_counted_is_an_error_in_anthropics_form(
    settings: dict[str, WireForm], body: object, status: int, code: str
) -> None:
    given = routes("http://127.0.0.1:9/v1", **settings)
    with proxying(ProxySettings(given, limits=Limits(request_bytes=500))) as proxy:
        response = httpx.post(f"{proxy.url}/messages/count_tokens", json=body)
    said = response.json()
    assert (response.status_code, said["type"], said["error"]["code"]) == (status, "error", code)


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (JSONResponse({"type": "error", "error": {"type": "api_error", "message": "No."}}, 500), 500, "No."),
        (Response("fine", 200), 502, "no JSON object"),
    ],
)
def test_what_the_upstream_does_wrong_is_told(answer: Response, status: int, words: str) -> None:
    with served(upstream(answer, [])) as url, proxying(ProxySettings(routes(url))) as proxy:
        response = httpx.post(f"{proxy.url}/messages/count_tokens", json={"model": "m", "messages": ASKED})
    assert (response.status_code, words in response.json()["error"]["message"]) == (status, True)
