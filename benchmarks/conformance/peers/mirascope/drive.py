"""mirascope: a call with tools, resumed with their outputs until there are no calls, as its guide shows."""

from __future__ import annotations

from mirascope import llm

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive

TOOLS = [llm.tool(function) for function in FUNCTIONS]
MOST_TURNS = 8


def ask(case: Case) -> str:
    """One run."""
    llm.register_provider("openai", scope="openai/", api_key=KEY, base_url=case.base_url)
    model = llm.model(f"openai/{MODEL}:completions")
    response = (model.stream if case.stream else model.call)(PROMPT, tools=TOOLS)
    for _ in range(MOST_TURNS):
        if case.stream:
            response.finish()
        if not response.tool_calls:
            return str(response.text())
        response = response.resume(response.execute_tools())
    return "too many turns"


drive(ask)
