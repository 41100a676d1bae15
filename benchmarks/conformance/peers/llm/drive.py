"""llm: ``model.chain`` over its class for OpenAI-compatible servers, with tools."""

from __future__ import annotations

from llm.default_plugins.openai_models import Chat

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive


def ask(case: Case) -> str:
    """One run."""
    model = Chat(MODEL, key=KEY, model_name=MODEL, api_base=case.base_url, supports_tools=True)
    chain = model.chain(PROMPT, tools=list(FUNCTIONS), stream=case.stream, key=KEY)
    return str(chain.text())


drive(ask)
