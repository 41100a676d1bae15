"""An agent that sets the status of a release; a small model of your own does it."""

from __future__ import annotations

from toolreel import Agent
from toolreel.demo import Workspace

MODEL = "qwen2.5-coder-1.5b"
OPTIONS = {"temperature": 0, "seed": 7, "max_tokens": 256}
INSTRUCTIONS = (
    "You are a release assistant. You work on the workspace with tools. Write each tool call as a ```json "
    "block and nothing else. When a call fails, correct it and call again. When state_patch succeeds, you "
    "are finished."
)
TASK = (
    'Change /release/status from its present value to "ready". For that you need the version, so make one '
    "tool call now: state_get with path /release/status."
)


def assistant(release: Workspace) -> Agent[str]:
    """The agent, with tools that work on a release."""
    return Agent(
        MODEL,
        tools=[release.state_get, release.state_patch],
        instructions=INSTRUCTIONS,
        options=OPTIONS,
        config={"text_dialects": ["hermes_json", "json_fenced"]},
    )
