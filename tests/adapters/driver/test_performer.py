from __future__ import annotations

import pytest

from tests.adapters.tools.python.test_host import call
from tests.servers.chat_server import asking
from toolreel._driver.performer import AsyncPorts, Ports
from toolreel._driver.sync_as_async import ImmediateEndpoint, ImmediateTools
from toolreel.testing._scripted import ScriptedEndpoint, ScriptedTools
from toolreel_core._protocol.events import ReplyReceived, ToolReturned


def test_requests_go_to_the_endpoint_and_calls_to_the_tools() -> None:
    endpoint, tools = ScriptedEndpoint(["{}"]), ScriptedTools({"roll": [6]})
    ports = Ports(endpoint, tools)
    assert ports.perform(asking(ref=2)) == ReplyReceived(2, 200, "{}")
    assert ports.perform(call("roll")) == ToolReturned(4, "6")
    assert (endpoint.asked, tools.ran) == ([asking(ref=2)], [call("roll")])


@pytest.mark.anyio
async def test_requests_go_to_the_endpoint_and_calls_to_the_tools_awaited() -> None:
    endpoint, tools = ScriptedEndpoint(["{}"]), ScriptedTools({"roll": [6]})
    ports = AsyncPorts(ImmediateEndpoint(endpoint), ImmediateTools(tools))
    assert await ports.perform(asking(ref=2)) == ReplyReceived(2, 200, "{}")
    assert await ports.perform(call("roll")) == ToolReturned(4, "6")
    assert (endpoint.asked, tools.ran) == ([asking(ref=2)], [call("roll")])
