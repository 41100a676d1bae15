"""No process that an MCP server started outlives it, in whatever session it is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from tests.adapters.tools.processes import alive
from tests.patience import eventually
from tests.samples import complaint
from tests.servers.mcp_servers_here import called, codes, data, rude
from toolreel._internal import McpServerError
from toolreel.tools.mcp import KnownProcess, McpTools, kill, known_process, with_descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process started which")

SLEEPS = "import time; time.sleep(600)"
STARTS = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-E", "-c", {SLEEPS!r}], start_new_session=True)
print(child.pid, flush=True)
input()
"""


@contextmanager
def parent_and_child(command: str = sys.executable) -> Generator[tuple[Popen[str], int]]:
    """A process that ends at a line of input, and the pid of its child in a session of its own."""
    with Popen([command, "-S", "-E", "-c", STARTS], stdin=PIPE, stdout=PIPE, text=True) as parent:
        assert parent.stdout
        child = known_process(int(parent.stdout.readline()))
        assert child
        try:
            yield parent, child.pid
        finally:
            parent.kill()
            kill(frozenset({child}))


def family_of(pid: int) -> frozenset[KnownProcess]:
    first = known_process(pid)
    assert first
    return with_descendants(frozenset({first}))


def pids_in(noted: Path) -> list[int]:
    return [int(pid) for pid in noted.read_text().split()] if noted.exists() else []


def all_gone(pids: list[int]) -> bool:
    assert len(pids) == 3
    return not any(alive(pid) for pid in pids)


def test_a_child_in_a_session_of_its_own_is_found_and_killed() -> None:
    with parent_and_child() as (parent, child):
        family = family_of(parent.pid)
        assert {each.pid for each in family} == {parent.pid, child}
        kill(family)
        eventually(lambda: not alive(child) and not alive(parent.pid), "both are killed")


def test_a_child_stays_known_after_its_parent_has_gone() -> None:
    with parent_and_child() as (parent, child):
        family = family_of(parent.pid)
        assert parent.stdin
        parent.stdin.close()
        parent.wait()
        assert {each.pid for each in with_descendants(family)} == {child}


def test_the_name_of_a_command_does_not_mislead(tmp_path: Path) -> None:
    odd = tmp_path / ") S 1 1 (x"
    odd.symlink_to(Path(sys.executable).resolve())
    with parent_and_child(str(odd)) as (parent, child):
        assert {each.pid for each in family_of(parent.pid)} == {parent.pid, child}


def test_another_process_under_a_known_pid_is_left_alone_with_its_children() -> None:
    with parent_and_child() as (parent, child):
        earlier = frozenset(KnownProcess(each.pid, each.started - 1) for each in family_of(parent.pid))
        assert with_descendants(earlier) == frozenset()
        kill(earlier)
        assert parent.poll() is None
        assert alive(child)


def test_a_process_that_has_gone_is_not_known() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-E", "-c", ""])
    ended.wait()
    assert known_process(ended.pid) is None


def test_what_a_server_started_in_other_sessions_ends_with_it(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    with McpTools([rude("strays", str(noted))]) as tools:
        assert data(tools.run(called("mcp_rude_do"))) == {"value": "done"}
        pids = pids_in(noted)
        assert all(alive(pid) for pid in pids)
    eventually(lambda: all_gone(pids), "the server and what it started have ended")


def test_the_same_for_a_server_that_is_killed_at_its_deadline(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    for start_ms in (1_000, 4_000, 16_000, 64_000):  # on a busy machine it may be killed before it has begun

        def open_it(limit: int = start_ms) -> None:
            with McpTools([rude("strays_mute", str(noted), start_ms=limit)]):
                pass

        assert f"within {start_ms} ms" in complaint(McpServerError, open_it)
        if pids_in(noted):
            break
    eventually(lambda: all_gone(pids_in(noted)), "the server and what it started have ended")


def test_the_same_for_a_server_that_is_killed_because_it_floods(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    with McpTools([rude("floods_with_strays", str(noted), max_message_bytes=10_000)]) as tools:
        assert codes(tools.run(called("mcp_rude_do"))) == ["TOOL_UNAVAILABLE"]
        eventually(lambda: all_gone(pids_in(noted)), "the server and what it started have ended")
