from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.driver.immediate import ImmediatePerformer, ImmediateTools
from tests.adapters.tools.python.test_host import call
from tests.samples import complaint
from tests.servers.chat_server import asking
from toolreel._driver import AsyncPorts, ImmediateClock, ImmediateEndpoint, InstantClock, Ports
from toolreel.testing import ScriptedEndpoint, ScriptedTools
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._protocol import ReplyReceived, ToolReturned, Wait, WaitElapsed


@pytest.mark.anyio
async def test_ports_that_never_wait_answer_async_drivers() -> None:
    ports = Ports(ScriptedEndpoint(["{}", "[]"]), ScriptedTools({"roll": [6, 5]}))
    assert await ImmediateEndpoint(ports.endpoint).send(asking()) == ReplyReceived(1, 200, "{}")
    assert await ImmediateTools(ports.tools).run(call("roll")) == ToolReturned(4, "6")
    performer = ImmediatePerformer(ports)
    assert await performer.perform(asking(ref=2)) == ReplyReceived(2, 200, "[]")
    assert await performer.perform(call("roll")) == ToolReturned(4, "5")


@pytest.mark.anyio
async def test_what_they_raise_comes_through() -> None:
    with pytest.raises(ReplayMismatch, match="request 1 was sent"):
        await ImmediateEndpoint(ScriptedEndpoint([])).send(asking())


@pytest.mark.anyio
async def test_on_the_instant_clock_no_time_passes_and_all_of_it_is_remembered() -> None:
    clock = InstantClock()
    assert clock.wait(Wait(1, 600_000)) == WaitElapsed(1)
    assert await ImmediateClock(clock).wait(Wait(2, 7)) == WaitElapsed(2)
    assert clock.waited == [600_000, 7]


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


@pytest.mark.parametrize(("ports", "host"), [(Ports, "PythonTools"), (AsyncPorts, "AsyncPythonTools")])
def test_functions_are_no_tool_host(ports: type[Any], host: str) -> None:
    assert complaint(ConfigError, lambda: ports(ScriptedEndpoint([]), [print])) == (
        f"tools: expected a tool host, got list; write {host}([function, ...])"
    )
