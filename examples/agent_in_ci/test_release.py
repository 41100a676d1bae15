"""An agent under test with toolreel's pytest plugin: recorded once from a real model, replayed ever after.

``pytest examples/agent_in_ci`` needs no network, no key and no model. The recordings lie under ``reels/``,
each under the name of its test. Record again, after a change that is meant, with::

    pytest examples/agent_in_ci --reel=record --reel-live-url http://127.0.0.1:8091/v1

and review what has changed in them together with the code.
"""

from __future__ import annotations

import httpx
import pytest

from toolreel import LoopConfig, Plan, PythonTools, SystemMessage, UserMessage
from toolreel.demo import Workspace
from toolreel.testing import Reel, assert_reel, call

MODEL = "qwen2.5-coder-1.5b"
OPTIONS = {"temperature": 0, "seed": 7, "max_tokens": 256}
WISHES = (
    "You are a release assistant. You work on the workspace with tools. Write each tool call as a ```json "
    "block and nothing else. When a call fails, correct it and call again. When state_patch succeeds, you "
    "are finished."
)
TASK = (
    'Change /release/status from its present value to "ready". For that you need the version, so make one '
    "tool call now: state_get with path /release/status."
)


def test_the_release_is_set_to_ready(reel: Reel) -> None:
    """The model's replies come from the recording; your tools run for real."""
    release = Workspace()  # stands for your own code, which your tools work on
    tools = PythonTools([release.state_get, release.state_patch])
    plan = Plan.of(
        model=MODEL,
        messages=[SystemMessage(WISHES), UserMessage(TASK)],
        options=OPTIONS,
        tools=tools.surface,
        config=LoopConfig(text_dialects=("hermes_json", "json_fenced")),
    )

    run = reel.run(plan, tools)

    assert_reel(run).called("state_get", path="/release/status").then(
        "state_patch", value="ready"
    ).completed()
    assert_reel(run).calls("state_get", call("state_patch").that_worked())
    assert release.sections["release"]["status"] == "ready"


@pytest.mark.anyio
@pytest.mark.reel("capital/local--qwen2.5-coder-1.5b")
async def test_on_asyncio_and_on_trio(reel: Reel) -> None:
    """Tests that share a recording give it a name; the first of them records it."""
    plan = Plan.of(model=MODEL, messages="What is the capital of Norway? One word.", options=OPTIONS)
    run = await reel.arun(plan)
    assert_reel(run).calls().completed("Oslo")


def test_a_client_that_knows_nothing_of_toolreel(reel: Reel) -> None:
    """Whatever takes a transport is recorded and replayed; for the openai SDK, ``reel.httpx2_transport``."""
    with httpx.Client(transport=reel.transport, base_url=reel.base_url, timeout=300) as client:
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Say hello."}], **OPTIONS}
        reply = client.post("/chat/completions", json=body).json()
    assert "Hello" in reply["choices"][0]["message"]["content"]
