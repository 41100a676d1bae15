from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.project import Project

ASKS = """
def test_pins(reel):
    run = reel.run(asking(), TOOLS)
    assert_reel(run).calls("stock").called("stock", part="pin").completed("There are 4.")
"""


def test_a_recording_that_is_missing_fails_and_names_the_command_that_makes_it(project: Project) -> None:
    project.tests(ASKS)
    result = project.here()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_agent.py:9: reels/test_agent/test_pins.yaml: there is no recording of this test yet",
            "To record: pytest test_agent.py::test_pins --reel=record --reel-live-url URL",
        ]
    )
    result.stdout.no_fnmatch_line("*Error*")


def test_a_request_that_has_changed_is_shown_without_a_stack_trace(
    project: Project, recorded: Callable[[str], None]
) -> None:
    recorded(ASKS)
    project.edit("agent.py", "How many pins", "How many pens")
    result = project.here()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_pins _*",
            "test_agent.py:9: reels/test_agent/test_pins.yaml: POST /chat/completions is not in *",
            "first change: messages?0?.content",
            '  recorded: "How many pins are in stock?"',
            '  request:  "How many pens are in stock?"',
            "If the change is meant, record the session again.",
            "To record: pytest test_agent.py::test_pins --reel=record --reel-live-url URL",
            "FAILED test_agent.py::test_pins - *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*cassette_tape.py*")


def test_the_journal_may_answer_for_the_tools(project: Project, recorded: Callable[[str], None]) -> None:
    recorded(ASKS.replace("TOOLS)", "TOOLS, tools_in_replay=False)"))
    project.edit("agent.py", 'return {"pin": 4}[part]', 'raise SystemExit("ordered for real")')
    project.here().assert_outcomes(passed=1)


ASKS_FOR_ANOTHER = """
def test_pins(reel):
    with httpx.Client(transport=reel.transport) as client:
        {before}:
            client.post("http://m.test/v1/chat/completions", json={{"model": "another"}})
"""
FAILS: dict[str, tuple[str, dict[str, int], list[str]]] = {
    "not all is asked for": (
        "def test_pins(reel):\n    pass\n",
        {"passed": 1, "errors": 1},
        [
            "*test_pins.yaml: the session is over, but these were recorded and not asked for:",
            "  interaction 1 of 2: POST /chat/completions",
            "  interaction 2 of 2: POST /chat/completions",
            "To record: *",
        ],
    ),
    "a drift that the test swallows": (
        ASKS_FOR_ANOTHER.format(before='with pytest.raises(Exception, match="not in the recording")'),
        {"failed": 1},
        ["first change: model"],
    ),
    "a drift behind an error of the client": (
        ASKS_FOR_ANOTHER.format(before="try")
        + """        except Exception as error:
            raise ConnectionError("connection error") from error
""",
        {"failed": 1},
        ["first change: model"],
    ),
}


@pytest.mark.parametrize("case", FAILS)
def test_a_replay_that_goes_another_way_fails(
    case: str, project: Project, recorded: Callable[[str], None]
) -> None:
    source, outcomes, lines = FAILS[case]
    recorded(ASKS)
    project.tests(source)
    result = project.here()
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines(lines)


def test_a_reel_that_is_asked_for_in_the_middle_of_a_test_is_a_reel_too(
    project: Project, recorded: Callable[[str], None]
) -> None:
    late = ASKS.replace("(reel)", "(request)").replace("run = reel", 'run = request.getfixturevalue("reel")')
    recorded(late)
    project.here().assert_outcomes(passed=1)
    project.tests('def test_pins(request):\n    request.getfixturevalue("reel")\n')
    result = project.here()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*these were recorded and not asked for:"])
    result.stdout.no_fnmatch_line("*Traceback*")


TEARDOWNS = {
    "a fixture": """
@pytest.fixture
def client(reel):
    with httpx.Client(transport=reel.transport, base_url=reel.base_url) as client:
        yield client
        client.post("/chat/completions", json={"step": "teardown"})

def test_pins(client):
    client.post("/chat/completions", json={"step": "test"})
""",
    "an async fixture": """
@pytest.fixture
async def client(reel):
    async with httpx.AsyncClient(transport=reel.async_transport, base_url=reel.base_url) as client:
        yield client
        await client.post("/chat/completions", json={"step": "teardown"})

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_pins(client):
    await client.post("/chat/completions", json={"step": "test"})
""",
}


@pytest.mark.parametrize("kind", TEARDOWNS)
def test_requests_of_a_teardown_belong_to_the_recording(kind: str, project: Project) -> None:
    project.tests(TEARDOWNS[kind])
    project.record().assert_outcomes(passed=1)
    (cassette,) = (project.path / "reels").rglob("*.yaml")
    assert cassette.read_text().count("- request:") == 2
    project.here().assert_outcomes(passed=1)
    project.edit("test_agent.py", '{"step": "teardown"}', '{"step": "another"}')
    result = project.here()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["first change: step"])


def test_a_fixture_of_a_wider_scope_is_told_why_not(project: Project) -> None:
    project.tests("""
@pytest.fixture(scope="module")
def client(reel):
    return httpx.Client(transport=reel.transport)

def test_pins(client):
    pass
""")
    result = project.here()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*scoped fixture reel with a*",
            "The fixture reel is the recording of one test, *",
            "*use_cassette(path, *",
        ]
    )


def test_a_driver_of_its_own_gets_an_endpoint_and_a_journal(project: Project) -> None:
    project.tests(
        """
from toolreel import Ports, run

def test_own(reel):
    plan = asking()
    run(plan, Ports(reel.endpoint, TOOLS), journal=reel.journal(plan))
"""
    )
    project.record().assert_outcomes(passed=1)
    project.here().assert_outcomes(passed=1)
    project.unseal("reels/test_agent/test_own.journal.jsonl")
    project.edit("reels/test_agent/test_own.journal.jsonl", '"output":"4"', '"output":"5"')
    result = project.here()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_own.journal.jsonl: event 2 is not the recorded one; first change: event.output",
            "  now:      *",
        ]
    )


def test_tests_without_a_reel_are_left_alone(project: Project) -> None:
    project.tests(
        """
import sys

def test_plain():
    assert "toolreel.testing._pytest_reel" not in sys.modules
    with pytest.raises(httpx.ConnectError):
        httpx.get("http://nobody.invalid/")
"""
    )
    project.run().assert_outcomes(passed=1)


def test_a_replaying_test_has_no_network_and_is_told_what_to_do(project: Project) -> None:
    project.tests(
        """
@pytest.mark.reel
def test_name():
    httpx.get("http://example.invalid/")

@pytest.mark.reel
def test_address():
    httpx.get("http://192.0.2.1/")

@pytest.mark.reel
def test_swallowed():
    try:
        httpx.get("http://192.0.2.1/")
    except BaseException:
        pass
"""
    )
    result = project.here()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "test_agent.py:10: there is no network in a replay, but this test wants to look up ex*.invalid.",
            "Send it through the reel (*); for a tool, replay its result (tools_in_replay=False);",
            "or allow the host in allowed_hosts of [[]tool.toolreel[]] in pyproject.toml.",
            "To record: pytest test_agent.py::test_name --reel=record --reel-live-url URL",
            "test_agent.py:14: * wants to connect to 192.0.2.1.",
            "there is no network in a replay, but this test wanted to connect to 192.0.2.1",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_this_machine_and_hosts_that_are_named_are_open(project: Project) -> None:
    project.tests(
        """
import socket

@pytest.mark.reel
def test_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()
    left, right = socket.socketpair()
    left.close(), right.close()

@pytest.mark.reel
def test_named():
    with pytest.raises(OSError):
        socket.getaddrinfo("db.invalid", 9)
"""
    )
    (project.path / "pyproject.toml").write_text('[tool.toolreel]\nallowed_hosts = "*.invalid"\n')
    project.here().assert_outcomes(passed=2)
