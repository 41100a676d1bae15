"""strands: an ``Agent`` over its ``OpenAIModel``, without the handler that prints."""

from __future__ import annotations

from strands import Agent, tool
from strands.models.openai import OpenAIModel

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive

TOOLS = [tool(function) for function in FUNCTIONS]


def ask(case: Case) -> str:
    """One run."""
    client = {"api_key": KEY, "base_url": case.base_url}
    model = OpenAIModel(client_args=client, model_id=MODEL, stream=case.stream)
    agent = Agent(model=model, tools=list(TOOLS), callback_handler=None)
    return str(agent(PROMPT))


drive(ask)
