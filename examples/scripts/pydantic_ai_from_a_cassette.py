# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "toolreel[httpx2]",
#     "pydantic-ai-slim[openai]",
# ]
# ///
"""A pydantic-ai agent with its replies from a cassette: no network, no key, and nothing of it patched.

The agent's provider takes an HTTP client, and the client takes a transport; that is all.

Record again with ``python pydantic_ai_from_a_cassette.py http://127.0.0.1:8091/v1``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import httpx2
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from toolreel.cassette import Session, use_cassette

CASSETTE = Path(__file__).parents[2] / "cassettes" / "pydantic-ai" / "local--qwen2.5-coder-1.5b.yaml"


class Place(BaseModel):
    """Where a landmark is."""

    city: str
    country: str


async def locate(landmark: str, session: Session, base_url: str) -> Place:
    """Ask an agent for a typed answer."""
    async with httpx2.AsyncClient(transport=session.async_httpx2_transport(), timeout=300) as http:
        provider = OpenAIProvider(base_url=base_url, api_key="none", http_client=http)
        agent = Agent(
            OpenAIChatModel("qwen2.5-coder-1.5b", provider=provider),
            output_type=NativeOutput(Place),
            model_settings=ModelSettings(temperature=0, seed=7, max_tokens=256),
        )
        return (await agent.run(f"In which city and country is the {landmark}?")).output


async def record(base_url: str) -> None:
    """Ask for real, once."""
    with use_cassette(CASSETTE, "record") as session:
        print(await locate("Eiffel Tower", session, base_url))


async def main() -> None:
    """Ask again without network."""
    with use_cassette(CASSETTE) as session:
        place = await locate("Eiffel Tower", session, "https://anywhere.invalid/v1")
    print(place)
    assert place == Place(city="Paris", country="France")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1]) if len(sys.argv) > 1 else main())
