from __future__ import annotations

import pytest

from tests.adapters.tools.python.test_host import call
from tests.servers.chat_server import asking
from toolreel._driver.performer import Ports
from toolreel._driver.sync_as_async import ImmediateEndpoint, ImmediatePerformer, ImmediateTools
from toolreel.testing._scripted import ScriptedEndpoint, ScriptedTools
from toolreel_core._errors import ReplayMismatch
from toolreel_core._protocol.events import ReplyReceived, ToolReturned


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
