"""Headers of an upstream reach the client of the proxy, unless the proxy's answer contradicts them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.servers.chat_server import Answer, chunk, replying, serving, streaming
from tests.servers.proxy_server import proxying
from toolreel.proxy import ProxySettings, Route
from toolreel.testing import saying

PASSED = {
    "x-request-id": "req_1",
    "x-ratelimit-remaining-tokens": "7",
    "retry-after": "1",
    "retry-after-ms": "20",
    "x-should-retry": "false",
    "etag": '"v1"',
    "content-disposition": 'inline; filename="a"',
    "link": '</v1/models?page=2>; rel="next"',
    "x-of-a-gateway": "1",
}
STAYS = {
    "connection": "x-of-this-hop",
    "x-of-this-hop": "1",
    "content-md5": "0",
    "access-control-allow-origin": "*",
    "strict-transport-security": "max-age=1",
    "x-toolreel-repairs": "NONE",
}
DONE = "data: [DONE]\n\n"
ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def with_headers(answer: Answer) -> Answer:
    return replace(answer, headers={**answer.headers, **PASSED, **STAYS})


def settings(url: str, **further: Any) -> ProxySettings:  # noqa: ANN401 - settings of several types
    return ProxySettings((Route(url),), **further)


WAYS: dict[str, tuple[Answer, dict[str, Any], int]] = {
    "plain": (replying(saying("hello")), {}, 200),
    "streamed": (streaming(chunk("hello", "stop"), DONE), {"stream": True}, 200),
    "an error": (replying({"error": {"message": "Slow down."}}, 429), {}, 429),
    "no completion": (replying({"error": {"message": "Overloaded.", "code": 503}}), {}, 502),
}


@pytest.mark.parametrize("way", WAYS)
def test_headers_of_the_upstream_reach_the_client(way: str) -> None:
    answer, further, status = WAYS[way]
    with serving(with_headers(answer)) as server, proxying(settings(server.url)) as proxy:
        got = httpx.post(f"{proxy.url}/chat/completions", json={**ASKED, **further})
    assert got.status_code == status
    assert {name: got.headers.get(name) for name in PASSED} == PASSED
    assert [name for name in STAYS if got.headers.get(name) == STAYS[name]] == []
    for name in ("content-type", "date", "server", "content-length", "transfer-encoding"):
        assert len(got.headers.get_list(name)) <= 1


def test_a_header_that_comes_twice_goes_out_twice_and_no_key_goes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OWN_KEY", "open-sesame-42")
    body = b'{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n"
        b"x-key: Bearer open-sesame-42\r\n\r\n"
    )
    with (
        serving(Answer(raw=head + body)) as server,
        proxying(ProxySettings((Route(server.url, api_key_env="OWN_KEY"),))) as proxy,
    ):
        got = httpx.post(f"{proxy.url}/chat/completions", json=ASKED)
    assert got.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert "sesame" not in got.headers["x-key"]


def test_the_openai_sdk_obeys_the_upstream_behind_the_proxy_and_in_a_replay(tmp_path: Path) -> None:
    def asked(url: str) -> list[Any]:
        with openai.OpenAI(base_url=url, api_key="none", max_retries=2) as client:
            with pytest.raises(openai.InternalServerError) as caught:
                client.chat.completions.create(**ASKED)
            raw = client.chat.completions.with_raw_response.create(**ASKED)
            return [
                caught.value.request_id,
                raw.parse()._request_id,
                raw.headers["x-ratelimit-remaining-tokens"],
            ]

    script = (with_headers(replying({}, 503)), with_headers(replying(saying("hello"))))
    with serving(*script) as server, proxying(settings(server.url, folder=tmp_path, mode="record")) as proxy:
        live = asked(proxy.url)
    assert live == ["req_1", "req_1", "7"]
    with proxying(settings("http://upstream.invalid", folder=tmp_path, mode="replay")) as proxy:
        assert asked(proxy.url) == live
