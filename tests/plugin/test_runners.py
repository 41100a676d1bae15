"""The plugin together with others that run tests in ways of their own."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.plugin.project import SESSION, Project
from tests.servers.chat_server import replying, serving
from toolreel.testing import saying

ASYNCIO = """
@pytest.mark.asyncio
async def test_pins(reel):
    assert_reel(await reel.arun(asking(), [stock])).called("stock").completed()
"""

ANYIO = """
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_pins(reel, anyio_backend):
    async with httpx.AsyncClient(transport=reel.async_transport, base_url=reel.base_url) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, client)

async def ask(client):
    await client.post("/v1/chat/completions", json={"messages": []})
    await client.post("/v1/chat/completions", json={"messages": []})
"""


@pytest.mark.slow
def test_pytest_asyncio(project: Project) -> None:
    with_asyncio = ("-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function")
    project.tests(ASYNCIO)
    with serving(*SESSION) as server:
        recording = ("--reel=record", "--reel-live-url", server.url)
        project.run(*with_asyncio, *recording).assert_outcomes(passed=1)
    project.run(*with_asyncio).assert_outcomes(passed=1)
    project.edit("agent.py", "How many pins", "How many pens")
    result = project.run(*with_asyncio)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_agent.py:10: *", "first change: messages?0?.content", "To record: *"])


def test_anyio_on_asyncio_and_trio_with_any_client_in_task_groups(project: Project) -> None:
    project.tests(ANYIO)
    project.record(script=SESSION * 2).assert_outcomes(passed=2)
    assert project.files() == ["test_agent/test_pins-asyncio.yaml", "test_agent/test_pins-trio.yaml"]
    project.here().assert_outcomes(passed=2)
    project.edit("test_agent.py", '{"messages": []}', '{"messages": [1]}')
    result = project.here()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["test_agent.py:1*: *not in the recording*", "first change: messages?0?"] * 2)
    result.stdout.no_fnmatch_line("*Traceback*")


def test_runs_on_asyncio_and_trio_share_a_recording(project: Project) -> None:
    project.tests(
        """
pytestmark = [pytest.mark.anyio, pytest.mark.reel("pins")]

async def test_pins(reel):
    assert_reel(await reel.arun(asking(), [stock])).completed()
"""
    )
    project.record().assert_outcomes(passed=2)
    project.here().assert_outcomes(passed=2)


def test_the_network_is_blocked_for_async_clients_too(project: Project) -> None:
    project.tests(
        """
@pytest.mark.anyio
@pytest.mark.reel
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_net(anyio_backend):
    async with httpx.AsyncClient() as client:
        await client.get("http://example.invalid/")
"""
    )
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["test_agent.py:*: there is no network in a replay, *example.invalid."] * 2)
    result.stdout.no_fnmatch_line("*Traceback*")


def test_on_xdist_each_test_writes_its_own_recording(project: Project) -> None:
    project.tests(
        """
@pytest.mark.parametrize("number", range(6))
def test_pins(reel, number):
    plan = Plan.of(model="m", messages=f"How many pins are in box {number}?")
    assert_reel(reel.run(plan)).completed("There are 4.")
"""
    )
    with serving(*[replying(saying("There are 4."))] * 6) as server:
        result = project.run("-n", "2", "--reel=record", "--reel-live-url", server.url)
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["*= recorded =*", "reels/test_agent/test_pins-0.journal.jsonl"])
    before = {name: (project.path / "reels" / name).read_bytes() for name in project.files()}
    assert len(before) == 12
    project.here().assert_outcomes(passed=6)
    assert {name: (project.path / "reels" / name).read_bytes() for name in project.files()} == before


@pytest.mark.slow
def test_without_the_plugin_that_returns_brings(project: Project) -> None:
    project.tests("""
def test_pins(reel):
    assert_reel(reel.run(asking(), [stock])).called("stock").completed()
    assert "returns.contrib.pytest.plugin" not in __import__("sys").modules
""")
    without = ("-p", "no:returns")
    with serving(*SESSION) as server:
        project.run(*without, "--reel=record", "--reel-live-url", server.url).assert_outcomes(passed=1)
    project.run(*without).assert_outcomes(passed=1)
    assert find_spec("returns.contrib.pytest.plugin"), "which without this option is in every session"
