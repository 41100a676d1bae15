"""pydantic-ai over Responses and Messages, through the proxy to an upstream of any form."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from pydantic_ai import Agent

from tests.adapters.proxy.test_other_forms import FORMS, IN_TEXT, answer, to
from tests.adapters.replay.from_cassette.test_pydantic_ai_of_forms import model
from tests.servers.chat_server import serving
from tests.servers.proxy_server import proxying
from tests.wire_forms import OTHER_FORMS
from toolreel_core._settings import WireForm


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("upstream", FORMS)
@pytest.mark.parametrize("form", OTHER_FORMS)
def test_an_agent_calls_what_was_text(form: WireForm, upstream: WireForm, stream: bool) -> None:
    called: list[str] = []

    async def talk(url: str) -> str:
        async with httpx2.AsyncClient() as http:

            def stock(part: str) -> int:
                called.append(part)
                return 4

            agent: Any = Agent(model(form, http, url), tools=[stock])
            if not stream:
                return str((await agent.run("How many pins?")).output)
            async with agent.run_stream("How many pins?") as run:
                return str(await run.get_output())

    script = (answer(upstream, IN_TEXT, stream=stream), answer(upstream, "Four.", stream=stream))
    if stream:  # a text ends a streamed run of theirs, so the call has to come alone
        script = (answer(upstream, IN_TEXT.partition("\n")[2], stream=True), script[1])
    with serving(*script) as server, proxying(to(server, upstream)) as proxy:
        assert anyio.run(talk, proxy.url.removesuffix("/v1")) == "Four."
    assert called == ["pin"]
