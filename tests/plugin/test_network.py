from __future__ import annotations

from tests.plugin.project import Project


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
    result = project.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "test_agent.py:10: there is no network in a replay, but this test wants to look up ex*.invalid.",
            "Send it through the reel (*); for a tool, replay its result (tools_in_replay=False);",
            "or allow the host with the ini option reel_allowed_hosts.",
            "To record: pytest test_agent.py::test_name --reel=record --reel-live-url URL",
            "test_agent.py:14: * wants to connect to 192.0.2.1.",
            "there is no network in a replay, but this test wanted to connect to 192.0.2.1",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_tool_that_runs_for_real_has_none_either(project: Project) -> None:
    project.tests(
        """
@pytest.mark.parametrize("from_journal", [False, True])
@pytest.mark.reel("pins")
def test_pins(reel, from_journal):
    reel.run(asking(), TOOLS, tools_in_replay=not from_journal)
"""
    )
    project.record().assert_outcomes(passed=2)
    project.edit("agent.py", 'return {"pin": 4}[part]', 'import httpx; return httpx.get("http://192.0.2.1/")')
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["test_agent.py:*: * this test wants to connect to 192.0.2.1."])


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
    project.run("-o", "reel_allowed_hosts=loopback *.invalid").assert_outcomes(passed=2)
    result = project.run("-o", "reel_allowed_hosts=db.invalid")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["test_agent.py:13: *wants to look up localhost."])


def test_the_network_is_back_after_the_test(project: Project) -> None:
    project.tests(
        """
import socket
REAL = socket.getaddrinfo, socket.socket.connect

@pytest.mark.reel
def test_blocked():
    assert (socket.getaddrinfo, socket.socket.connect) != REAL

def test_open():
    assert (socket.getaddrinfo, socket.socket.connect) == REAL
"""
    )
    project.run().assert_outcomes(passed=2)
