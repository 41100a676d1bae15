"""google-adk: an ``LlmAgent`` over ``LiteLlm`` with the in-memory runner; an error event is its failure."""

from __future__ import annotations

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive


class ModelError(Exception):
    """What an event reported as the model's error."""


async def run(case: Case) -> str:
    """One run."""
    model = LiteLlm(model=f"openai/{MODEL}", api_base=case.base_url, api_key=KEY)
    agent = LlmAgent(name="harbour", model=model, tools=list(FUNCTIONS))
    runner = InMemoryRunner(agent=agent, app_name="harbour")
    session = await runner.session_service.create_session(app_name="harbour", user_id="user")
    asked = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    mode = StreamingMode.SSE if case.stream else StreamingMode.NONE
    text = ""
    async for event in runner.run_async(
        user_id="user",
        session_id=session.id,
        new_message=asked,
        run_config=RunConfig(streaming_mode=mode),
    ):
        if event.error_code:
            raise ModelError(f"{event.error_code}: {event.error_message}")
        if event.is_final_response() and event.content and event.content.parts:
            text = "".join(part.text or "" for part in event.content.parts)
    return text


drive(lambda case: asyncio.run(run(case)))
