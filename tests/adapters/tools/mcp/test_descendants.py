"""No process that an MCP server started outlives it, in whatever session it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.adapters.tools.processes import alive
from tests.patience import eventually
from tests.samples import complaint
from tests.servers.mcp_servers_here import called, data, rude
from toolreel._internal import McpServerError
from toolreel.tools import kill_descendants, running_descendants
from toolreel.tools.mcp import McpTools

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process started which")


def pids_in(noted: Path) -> list[int]:
    return [int(pid) for pid in noted.read_text().split()] if noted.exists() else []


def all_gone(pids: list[int]) -> bool:
    assert len(pids) == 3
    return not any(alive(pid) for pid in pids)


def test_a_process_is_known_by_its_start_and_stays_known_after_its_parent(tmp_path: Path) -> None:
    odd = tmp_path / ") S 1 1 (x"  # the name of a command does not mislead
    odd.symlink_to(Path(sys.executable).resolve())
    sleeps = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"]
    starts = (
        "import subprocess; "
        f"print(subprocess.Popen({sleeps!r}, start_new_session=True).pid, flush=True); input()"
    )
    with subprocess.Popen([odd, "-S", "-E", "-c", starts], stdin=PIPE, stdout=PIPE, text=True) as parent:
        assert parent.stdout
        assert parent.stdin
        child = int(parent.stdout.readline())
        family = running_descendants({parent.pid: None})
        assert family.keys() == {parent.pid, child}
        assert running_descendants({pid: start - 1 for pid, start in family.items()}) == {}
        parent.stdin.close()
        parent.wait()
        assert running_descendants(family) == {child: family[child]}
        kill_descendants(family)
        eventually(lambda: not running_descendants(family), "the child is gone")


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
