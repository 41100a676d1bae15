"""The agent under test: recorded once from a real model, replayed ever after."""

from __future__ import annotations

import httpx
import pytest

from release_assistant import MODEL, OPTIONS, TASK, assistant
from toolreel import Agent
from toolreel.demo import Workspace
from toolreel.testing import Reel, assert_reel


def test_the_release_is_set_to_ready(reel: Reel) -> None:
    """The model's replies come from the recording; your tools run for real."""
    release = Workspace()  # stands for your own code, which your tools work on
    run = reel.agent(assistant(release)).run(TASK)
    assert_reel(run).called("state_get", path="/release/status").then(
        "state_patch", value="ready"
    ).completed()
    assert_reel(run).calls("state_get", "state_patch").never_noted("call_ended", ok=False)
    assert release.sections["release"]["status"] == "ready"


@pytest.mark.anyio
@pytest.mark.reel("capital/local--qwen2.5-coder-1.5b")
async def test_on_asyncio_and_on_trio(reel: Reel) -> None:
    """Tests that share a recording give it a name; the first of them records it."""
    run = await reel.agent(Agent(MODEL, options=OPTIONS)).arun("What is the capital of Norway? One word.")
    assert_reel(run).calls().completed("Oslo")


def test_a_client_that_knows_nothing_of_toolreel(reel: Reel) -> None:
    """Whatever takes a transport is recorded and replayed; for the openai SDK, ``reel.httpx2_transport``."""
    with httpx.Client(transport=reel.transport, base_url=reel.base_url, timeout=300) as client:
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Say hello."}], **OPTIONS}
        reply = client.post("/chat/completions", json=body).json()
    assert "Hello" in reply["choices"][0]["message"]["content"]
