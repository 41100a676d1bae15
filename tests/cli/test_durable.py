"""``toolreel durable``: each command a process of its own, and the database between them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.adapters.durable.conftest import database, postgres, sqlite_template
from tests.cli.commands import COMMAND, Said, assert_mistake, environment, run_at, toolreel
from tests.patience import HANG
from tests.servers.chat_server import ChatServer, replying, serving
from toolreel.testing import calling, saying

__all__ = ["database", "postgres", "sqlite_template"]

TOOLS = '''
from toolreel import tool

@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    with open("paid.txt", "a") as paid:
        paid.write(f"{amount}\\n")
    return "paid"

TOOLS = [pay]
'''
DYING = '''
import os
from pathlib import Path
from toolreel import current_call

def order(part: str) -> str:
    """Order a part."""
    before = Path("ordered.txt")
    if not before.exists():
        before.write_text(current_call().key)
        os.kill(os.getpid(), 9)
    assert before.read_text() == current_call().key
    return "ordered"

TOOLS = [order]
'''
MINE = ("--tools", "my_tools:TOOLS")
SUBMIT = ("durable", "submit", "Pay 7.", "--model", "m", *MINE, "--run-id", "bill-7")
PAYING = replying(calling(("pay", {"amount": 7})))


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "my_tools.py").write_text(TOOLS)
    return tmp_path


def said(desk: Path, *arguments: str) -> Said:
    return toolreel(*arguments, cwd=desk)


def told(desk: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    answer = said(desk, *arguments, "--json")
    return json.loads(answer.stdout)


def serve(desk: Path, server: ChatServer, *more: str) -> Said:
    worker = ("durable", "worker", "--base-url", server.url, "--until-idle", "--poll", "0.05")
    return said(desk, *worker, *(more or MINE))


def test_a_run_is_submitted_approved_and_spoken_to_from_other_processes(desk: Path) -> None:
    assert told(desk, *SUBMIT)["run_id"] == told(desk, *SUBMIT)["run_id"] == "bill-7"
    with serving(PAYING, replying(saying("Paid.")), replying(saying("Goodbye."))) as server:
        served = serve(desk, server)
        assert served.code == 0, served
        logged = [json.loads(line) for line in served.stderr.splitlines()]
        assert {"run": "bill-7", "event": 1, "kind": "send_request", "ref": 1}.items() <= logged[1].items()
        shown = said(desk, "durable", "show", "bill-7")
        assert (shown.code, 'pay({"amount":7}): approval' in shown.stdout) == (0, True)
        assert told(desk, "durable", "list", "--status", "waiting")["counts"] == {"waiting": 1}
        assert not (desk / "paid.txt").exists()
        approved = said(desk, "durable", "approve", "bill-7")
        assert (approved.code, "next: toolreel durable worker" in approved.stdout) == (0, True)
        again = said(desk, "durable", "approve", "bill-7", "--deny")
        assert (again.code, "waits for no decision" in again.stderr) == (2, True)
        serve(desk, server)
        assert told(desk, "durable", "show", "bill-7", "--wait")["detail"]["content"] == "Paid."
        assert said(desk, "durable", "say", "bill-7", "Bye!").code == 0
        serve(desk, server)
        assert told(desk, "durable", "show", "bill-7")["detail"]["content"] == "Goodbye."
    assert (desk / "paid.txt").read_text() == "7\n"
    assert said(desk, "durable", "export", "bill-7", "-o", "bill.journal.jsonl").code == 0
    assert said(desk, "replay", "bill.journal.jsonl").code == 0
    gone = told(desk, "durable", "list", "--prune", "0")
    assert gone == {"runs": [], "counts": {}, "deleted": 1}


def test_a_queued_run_is_said_to_need_a_worker(desk: Path) -> None:
    said(desk, *SUBMIT)
    assert "toolreel durable worker" in said(desk, "durable", "cancel", "bill-7").stdout
    with serving() as server:  # a cancelled run sends nothing
        serve(desk, server)
    over = said(desk, "durable", "show", "bill-7", "--wait")
    assert (over.code, "outcome     cancelled" in over.stdout) == (1, True)
    assert "unless it had ended" in said(desk, "durable", "cancel", "bill-7").stdout


def test_what_cannot_be_done_is_said_with_what_to_do(desk: Path) -> None:
    said(desk, *SUBMIT)
    mistakes: Sequence[tuple[tuple[str, ...], str]] = (
        (("durable", "show", "bill-8"), "there is none in this database; see `toolreel durable list`"),
        (("durable", "submit", "Pay 8.", "--model", "m", "--run-id", "bill-7"), "submit it under another id"),
        (("durable", "submit", "Pay.", "--model", "m", "--run-id", "bill 7"), "write letters, digits"),
        (("durable", "adopt", "--failed", "bill-7"), "only failed or refused runs are requeued"),
        (("durable", "cancel", "bill-7", "bill-8"), "run bill-8: there is none in"),
        (("durable", "adopt", "worker-9", "--failed", "bill-8"), "run bill-8: there is none in"),
    )
    for arguments, sentence in mistakes:
        assert_mistake(said(desk, *arguments), sentence)
    assert told(desk, "durable", "list")["counts"] == {"queued": 1}
    with serving(replying(saying("Hello."))) as server:
        serve(desk, server)
    assert told(desk, "durable", "show", "bill-7")["outcome"] == "completed", "no mistake has cancelled it"
    assert ": it left no runs" in said(desk, "durable", "adopt", "worker-9").stdout


def test_a_killed_durable_run_goes_on_with_the_same_command(desk: Path) -> None:
    (desk / "my_tools.py").write_text(DYING)
    with serving(replying(calling(("order", {"part": "pin"}))), replying(saying("It is ordered."))) as server:
        command = (*run_at(server, "Order a pin."), *MINE, "--run-id", "pin")
        assert said(desk, *command).code in {137, -9}
        gone_on = said(desk, *command, "--json")
        assert (gone_on.code, len(server.seen)) == (0, 2), gone_on
        again = said(desk, *command)
        assert (again.code, "It is ordered." in again.stdout, len(server.seen)) == (0, True, 2)
    assert json.loads(gone_on.stdout)["durable"]["events"] == 3


def test_a_run_that_a_command_began_is_said_to_need_it_again(desk: Path) -> None:
    with serving(PAYING) as server:
        assert said(desk, *run_at(server, "Pay 7."), *MINE, "--run-id", "job").code == 0
    for reaching in (("approve", "job"), ("say", "job", "Hurry!"), ("cancel", "job")):
        reached = said(desk, "durable", *reaching)
        assert (reached.code, "next: toolreel run ... --run-id job" in reached.stdout) == (0, True), reached


def test_a_worker_drains_on_sigterm(desk: Path) -> None:
    said(desk, *SUBMIT)
    with serving(PAYING) as server:
        probes = ("--health-port", "0")
        command = [*COMMAND, "durable", "worker", "--base-url", server.url, "--poll", "0.05", *probes, *MINE]
        with subprocess.Popen(command, cwd=desk, env=environment(None), stderr=subprocess.PIPE) as worker:
            assert worker.stderr is not None
            port = 0
            for line in worker.stderr:
                told = json.loads(line)
                if told.get("is") == "ready":
                    port = told["health_port"]
                if told.get("is") == "waiting":
                    break
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=HANG) as answer:
                assert b'toolreel_runs{queue="toolreel",status="waiting"} 1' in answer.read()
            os.kill(worker.pid, signal.SIGTERM)
            rest = worker.stderr.read().decode()
            assert (worker.wait(HANG), "draining" in rest) == (0, True)


# ``toolreel durable worker --limit``: limits of an account, kept by one worker after another.


ONE = "requests=1,window=600,max-wait=0.2"
"""One request in ten minutes, and no patience."""


def submitted(desk: Path, *names: str, fallback: tuple[str, ...] = ()) -> None:
    for name in names:
        assert said(desk, "durable", "submit", "Hi!", "--model", "m", "--run-id", name, *fallback).code == 0


def test_a_run_goes_on_at_a_fallback_whose_host_has_the_same_limits(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server, serving() as other:
        fallback = ("--fallback", f"model=other,base-url={other.url}")
        submitted(tmp_path, "first", "second", fallback=fallback)
        served = serve(tmp_path, server, "--concurrency", "1", *fallback, "--limit", ONE)
        assert served.code == 0, served
        assert (len(server.seen), len(other.seen)) == (1, 0), "both servers are on one host"


def test_a_server_may_have_several_limits(tmp_path: Path) -> None:
    with serving(replying(saying("Hello."))) as server:
        submitted(tmp_path, "first", "second")
        loose = "requests=60"
        served = serve(tmp_path, server, "--limit", loose, "--limit", f"account=daily,{ONE}")
        assert served.code == 0, served
        assert len(server.seen) == 1
        twice = serve(tmp_path, server, "--limit", loose, "--limit", ONE)
    assert_mistake(twice, "two limits are for one account; name the second, such as account=daily")


# ``toolreel durable watch``.


def test_a_watch_follows_a_run_from_the_queue_until_it_waits(
    desk: Path,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLREEL_DATABASE_URL", database)
    said(desk, *SUBMIT)
    watch = ("durable", "watch", "--until-idle")
    with subprocess.Popen(
        [*COMMAND, *watch], cwd=desk, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(" bill-7 queued\n")
        with serving(PAYING) as provider:
            serve(desk, provider)
        stdout, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0
    assert stdout.endswith("bill-7 waiting: pay: approval\n")
    tree = told(desk, *watch)
    assert tree["status"] == "waiting"
    assert tree["waits_for"][0]["arguments"] == '{"amount":7}'
