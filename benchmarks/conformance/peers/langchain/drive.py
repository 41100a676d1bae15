"""langchain: ``create_agent`` over ``ChatOpenAI``; streamed, with the messages as they come."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, Case, drive


def ask(case: Case) -> str:
    """One run."""
    model = ChatOpenAI(model=MODEL, base_url=case.base_url, api_key=KEY, streaming=case.stream)
    agent = create_agent(model, tools=list(FUNCTIONS))
    asked = {"messages": [{"role": "user", "content": PROMPT}]}
    state = {}
    if case.stream:
        for kind, part in agent.stream(asked, stream_mode=["messages", "values"]):
            if kind == "values":
                state = part
    else:
        state = agent.invoke(asked)
    return str(state["messages"][-1].text)


drive(ask)
