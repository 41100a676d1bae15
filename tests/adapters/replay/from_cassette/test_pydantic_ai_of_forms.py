"""pydantic-ai over Responses and Messages: recorded, replayed, and made into a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.adapters.replay.from_cassette.test_sdks_of_forms import NOWHERE, RESULT, answers
from tests.servers.chat_server import serving
from tests.wire_forms import OTHER_FORMS
from toolreel._replay import recover_runs
from toolreel.cassette import Recording, use_cassette
from toolreel_core import Completed
from toolreel_core._settings import WireForm


def model(form: WireForm, http: httpx2.AsyncClient, url: str) -> Any:  # noqa: ANN401 - a model of theirs
    common: dict[str, Any] = {"api_key": "none", "http_client": http, "max_retries": 0}
    if form == "responses":
        return OpenAIResponsesModel(
            "m", provider=OpenAIProvider(openai_client=AsyncOpenAI(base_url=f"{url}/v1", **common))
        )
    return AnthropicModel(
        "m", provider=AnthropicProvider(anthropic_client=AsyncAnthropic(base_url=url, **common))
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", OTHER_FORMS)
def test_an_agent_is_recorded_and_replayed_and_has_a_journal(tmp_path: Path, form: WireForm) -> None:
    path = tmp_path / "session.yaml"

    async def talk(url: str, mode: Any) -> str:  # noqa: ANN401 - a mode
        with use_cassette(path, mode) as session:
            async with httpx2.AsyncClient(transport=session.async_httpx2_transport()) as http:
                agent = Agent(model(form, http, url))

                @agent.tool_plain
                def weather(city: str) -> str:  # noqa: ARG001 - the tool's schema
                    return RESULT

                return (await agent.run("Is it warm in Oslo?")).output

    with serving(*answers(form, streamed=False)) as server:
        assert anyio.run(talk, server.url.removesuffix("/v1"), "record") == "Yes."
    assert anyio.run(talk, NOWHERE, "replay") == "Yes."
    (one,) = recover_runs(Recording.load(path))
    assert one.run.outcome == Completed("Yes.")
