from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.plugin.project import SESSION, Project
from tests.servers.chat_server import replying, serving
from toolreel.testing import saying

ASKS = """
def test_pins(reel):
    assert_reel(reel.run(asking(), TOOLS)).completed()
"""


def test_a_test_that_fails_leaves_the_old_recording_as_it_was(project: Project) -> None:
    project.tests(ASKS)
    project.edit("test_agent.py", ".completed()", '.completed("There are 5.")')
    project.record().assert_outcomes(failed=1)
    assert project.files() == []
    project.tests(ASKS)
    result = project.record()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= recorded =*", "reels/test_agent/test_pins.yaml"])
    before = {name: (project.path / "reels" / name).read_bytes() for name in project.files()}
    project.edit("test_agent.py", ".completed()", '.completed("There are 5.")')
    project.record().assert_outcomes(failed=1)
    assert {name: (project.path / "reels" / name).read_bytes() for name in project.files()} == before


def test_auto_records_what_is_missing_and_replays_the_rest(project: Project) -> None:
    project.tests(ASKS)
    project.record().assert_outcomes(passed=1)
    project.tests(ASKS + ASKS.replace("test_pins", "test_more"))
    project.record(mode="auto").assert_outcomes(passed=2)  # the server answers one session, not two
    project.record(mode="auto", script=()).assert_outcomes(passed=2)


def test_a_secret_is_not_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "open-sesame-42")
    project.tests(ASKS)
    result = project.record(script=(replying(saying("It is open-sesame-42.")),))
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*not written, it holds value of MY_TOKEN*"])
    result.stdout.no_fnmatch_line("*open-sesame*")
    assert project.files() == []


def test_recording_without_a_server_says_how_to_name_one(project: Project) -> None:
    project.tests(ASKS)
    result = project.here("--reel=record")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*name its server with --reel-live-url URL"])


def test_of_tests_that_share_a_name_the_first_that_passes_records_and_the_others_replay(
    project: Project,
) -> None:
    project.tests(
        """
@pytest.mark.reel("pins")
@pytest.mark.parametrize("answer", ["There are 5.", "There are 4.", None])
def test_pins(reel, answer):
    assert_reel(reel.run(asking(), TOOLS)).completed(answer)
"""
    )
    project.record(script=SESSION * 2).assert_outcomes(passed=2, failed=1)
    assert project.files() == ["pins.journal.jsonl", "pins.yaml"]
    project.here().assert_outcomes(passed=2, failed=1)


@pytest.mark.parametrize(("key", "times"), [("ollama", 1), ("open-sesame-42", 0)])
def test_a_key_that_is_no_secret_stops_no_recording_and_is_named_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, key: str, times: int
) -> None:
    monkeypatch.setenv("K", key)
    project.tests(ASKS + ASKS.replace("test_pins", "test_more"))
    result = project.record("--reel-live-key-env", "K", script=SESSION * 2)
    result.assert_outcomes(passed=2)
    assert str(result.stdout).count("The value of K is short, or what servers without keys take") == times


TELLS = """
def test_pins(reel):
    run = reel.run(asking(), TOOLS)
    print("the model says", run.outcome)
    assert run.outcome.content == "4"
"""


def test_a_report_of_a_recording_test_has_no_key(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", "open-sesame")
    project.tests(TELLS)
    said = replying(saying("It is open-sesame, and \u202eover."))
    result = project.record("--reel-live-key-env", "K", script=(said,))
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*open-sesame*")
    result.stdout.fnmatch_lines(["*the model says*[[]value of the header authorization[]]*"])


# The plugin together with others that run tests in ways of their own.


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


def test_on_xdist_each_test_writes_its_own_recording(project: Project) -> None:
    project.tests(
        """
@pytest.mark.parametrize("number", range(6))
def test_pins(reel, number):
    plan = Plan.of(model="m", messages=f"How many pins are in box {number}?")
    assert_reel(reel.run(plan)).completed("There are 4.")
"""
    )
    table = "[[tool.toolreel.vary]]\npattern = 'box [0-9]'\n"
    (project.path / "pyproject.toml").write_text(table)
    with serving(*[replying(saying("There are 4."))] * 6) as server:
        result = project.run("-n", "2", "--reel=record", "--reel-live-url", server.url)
    result.assert_outcomes(passed=6)
    rule = "pyproject.toml: pattern='box [[]0-9]'*: 6 requests"
    result.stdout.fnmatch_lines([rule, "*= recorded =*", "reels/test_agent/test_pins-0.journal.jsonl"])
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


def test_the_project_says_where_to_record_from_and_where_recordings_are(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "abcdefgh-1234")
    project.tests(ASKS)
    with serving(*SESSION) as server:
        table = f'[tool.toolreel]\nbase_url = "{server.url}"\napi_key_env = "MY_KEY"\nrecordings = "tapes"\n'
        (project.path / "pyproject.toml").write_text(table)
        project.here("--reel=record").assert_outcomes(passed=1)
        assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer abcdefgh-1234"}
    tapes = [path.read_text() for path in (project.path / "tapes").rglob("*.*")]
    assert len(tapes) == 2
    assert not any("abcdefgh" in text for text in tapes)
    assert (project.path / "tapes" / "test_agent" / "test_pins.yaml").exists()
    project.here().assert_outcomes(passed=1)
