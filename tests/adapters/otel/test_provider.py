from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.samples import worked
from toolreel import AsyncPorts, Ports
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.otel import provider_of, server_host_and_port
from toolreel.ports import Endpoints
from toolreel.testing import ScriptedEndpoint
from toolreel_core._settings import WireForm


# Of a host that nobody knows only the API is known, which is that of OpenAI.
@pytest.mark.parametrize(("url", "provider"), worked("the provider of a host", "http"))
def test_the_provider_is_known_by_the_host(url: str, provider: str) -> None:
    with HttpEndpoint(url) as endpoint:
        assert provider_of(server_host_and_port(Ports(endpoint))[0], "chat_completions") == provider


@pytest.mark.parametrize(("form", "provider"), [("messages", "anthropic"), ("responses", "openai")])
def test_a_server_that_nobody_knows_is_named_after_its_api(form: WireForm, provider: str) -> None:
    assert provider_of("llm.example", form) == provider


def test_the_server_is_that_of_the_fallback_that_is_asked() -> None:
    with HttpEndpoint("https://a.example") as first, HttpEndpoint("http://b.example:81") as other:
        ports = Ports(Endpoints(first, {"b": other}))
        assert (server_host_and_port(ports), server_host_and_port(ports, "b")) == (
            ("a.example", 443),
            ("b.example", 81),
        )
        assert server_host_and_port(SimpleNamespace(performer=ports)) == ("a.example", 443)
    assert server_host_and_port(AsyncPorts(AsyncHttpEndpoint("http://c.example"))) == ("c.example", 80)


def test_an_endpoint_without_an_address_has_no_server() -> None:
    around = SimpleNamespace()
    around.endpoint = around  # whatever refers to itself is not followed for ever
    assert server_host_and_port(Ports(ScriptedEndpoint([]))) == server_host_and_port(around) == ("", 0)
