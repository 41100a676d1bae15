"""smolagents: a ``ToolCallingAgent`` over ``OpenAIServerModel``; it ends by its own tool final_answer."""

from __future__ import annotations

from smolagents import OpenAIServerModel, ToolCallingAgent, tool

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive

TOOLS = [tool(function) for function in FUNCTIONS]
MOST_STEPS = 8


def ask(case: Case) -> str:
    """One run."""
    model = OpenAIServerModel(MODEL, api_base=case.base_url, api_key=KEY)
    agent = ToolCallingAgent(tools=list(TOOLS), model=model, stream_outputs=case.stream)
    return str(agent.run(PROMPT, max_steps=MOST_STEPS))


drive(ask)
