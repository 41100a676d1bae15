"""What people put around httpx sees the default endpoints: proxies, hooks, mocks and tracing."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator

import httpx
import pytest
import respx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_httpx import HTTPXMock

from tests.adapters.http.ways import Ask, both
from tests.samples import complaint
from tests.servers.chat_server import Answer, asking, replying, serving
from toolreel._internal import EndpointConfigError
from toolreel.http import HttpEndpoint
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived, RequestFailed

MODELS = "http://models.test/v1"
CHAT = f"{MODELS}/chat/completions"
HELLO = saying("hello")
ANSWER = replying(HELLO)
REPLY = ReplyReceived(1, 200, ANSWER.body.decode())


@both
@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_forwards_the_request(
    ask: Ask, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(ANSWER) as server, serving(ANSWER) as proxy:
        monkeypatch.setenv(name, proxy.url.removeprefix("http://"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert ask(MODELS) == ask(server.url) == [REPLY]
    assert [seen.path for seen in proxy.seen] == [CHAT]


@both
@pytest.mark.parametrize("given", [str, httpx.URL, httpx.Proxy], ids=["text", "url", "proxy"])
def test_an_explicit_proxy_goes_before_the_environment(ask: Ask, given: Callable[[str], object]) -> None:
    with serving(ANSWER) as proxy:  # which sets NO_PROXY to *
        assert ask(MODELS, proxy=given(proxy.url)) == [REPLY]
    assert [seen.path for seen in proxy.seen] == [CHAT]


@both
@pytest.mark.parametrize(
    "proxy",
    [
        "gopher://me:not-a-real-key@proxy.test",
        "http://[me:not-a-real-key@::1",
        "http://me:not-a-real-key@a..b",
    ],
)
def test_an_explicit_proxy_that_cannot_be_used_is_refused_and_not_repeated(ask: Ask, proxy: str) -> None:
    assert complaint(EndpointConfigError, lambda: ask(MODELS, proxy=proxy)) == (
        "invalid proxy: expected http://, https:// or socks5:// and a host"
    )


@both
def test_respx_mocks_the_default_endpoint(ask: Ask) -> None:
    with respx.mock as mock:
        route = mock.post(CHAT).respond(json=HELLO)
        (event,) = ask(MODELS)
    assert isinstance(event, ReplyReceived)
    assert json.loads(event.body) == HELLO
    assert route.calls.last.request.content == asking().request.body.encode()


@both
def test_pytest_httpx_mocks_the_default_endpoint(ask: Ask, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(method="POST", url=CHAT, json=HELLO)
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))
    event, failed = ask(MODELS, asking(), asking())
    assert isinstance(event, ReplyReceived)
    assert json.loads(event.body) == HELLO
    assert failed == RequestFailed(1, "timeout", "ReadTimeout: slow")
    assert httpx_mock.get_requests()[0].read() == asking().request.body.encode()


def test_a_mocked_endpoint_has_as_many_requests_as_it_likes(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=CHAT, json=HELLO, is_reusable=True)
    with HttpEndpoint(MODELS, connections=1) as endpoint:
        kinds = {type(endpoint.send(asking(ref=ref))) for ref in range(1, 5)}
    assert kinds == {ReplyReceived}


@pytest.fixture
def spans() -> Generator[InMemorySpanExporter]:
    """The spans of httpx's instrumentation, while a test runs."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = HTTPXClientInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    yield exporter
    instrumentor.uninstrument()
    provider.shutdown()


@both
def test_opentelemetry_traces_the_default_endpoint(ask: Ask, spans: InMemorySpanExporter) -> None:
    with serving(ANSWER, Answer(b"no", 500)) as server:
        assert ask(server.url) == [REPLY]
        ask(server.url)
    one, other = spans.get_finished_spans()
    attributes = [dict(span.attributes or {}) for span in (one, other)]
    assert [each_["http.status_code"] for each_ in attributes] == [200, 500]
    assert [each_["http.url"] for each_ in attributes] == [f"{server.url}/v1/chat/completions"] * 2
    assert "traceparent" in server.seen[0].headers


@both
def test_a_server_that_sets_cookies_does_not_get_them_back(ask: Ask) -> None:
    answer = Answer(ANSWER.body, headers={"set-cookie": "session=1; Path=/"})
    with serving(answer, answer) as server:
        assert ask(server.url, asking(), asking()) == [REPLY, REPLY]
    assert all("cookie" not in seen.headers for seen in server.seen)
