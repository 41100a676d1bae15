"""What a worker answers to probes and to Prometheus, over HTTP."""

from __future__ import annotations

import socket
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.adapters.durable.shop import Shop, Slow, plan_of
from tests.patience import HANG
from tests.servers.postgres import Postgres
from toolreel import Ports
from toolreel.durable import DurableRuns, Worker
from toolreel.errors import DurableError
from toolreel.testing import ScriptedEndpoint

ANYWHERE = "127.0.0.1:0"


def asked(port: int | None, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=HANG) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def metrics(port: int | None) -> dict[str, float]:
    status, told = asked(port, "/metrics")
    assert status == 200, told
    lines = (line.rpartition(" ") for line in told.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_a_worker_tells_probes_how_it_is_until_it_ends(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    slow = Slow(shop)
    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 2, shop.tools.surface), "a")
        runs.submit(plan_of("b", 1, shop.tools.surface), "b", queue="others")
        worker = Worker(Ports(shop, slow), database, poll_seconds=0.02, health=ANYWHERE)
        worker.start()
        port = worker.health_port
        assert slow.in_a_call.wait(HANG)
        assert asked(port, "/livez") == (200, "alive\n")
        assert asked(port, "/readyz") == (200, "ready\n")
        assert asked(port, "/") == (404, "there is /livez, /readyz, /metrics\n")
        during = metrics(port)
        assert during['toolreel_runs{queue="toolreel",status="running"}'] == 1
        assert during['toolreel_runs{queue="others",status="queued"}'] == 1
        assert during['toolreel_queue_oldest_seconds{queue="others"}'] >= 0
        assert during['toolreel_worker_runs{queue="toolreel"}'] == 1
        stopping = Thread(target=worker.stop)
        stopping.start()
        while asked(port, "/readyz") != (503, "it is stopping\n"):
            assert stopping.is_alive()
        slow.go_on.set()
        stopping.join(HANG)
        with pytest.raises(OSError, match="refused"):
            urlopen(f"http://127.0.0.1:{port}/livez")
        with Worker(shop.ports, database, poll_seconds=0.02, health=ANYWHERE) as after:
            runs.wait("a", HANG)
            count = 'toolreel_effect_seconds_count{kind="send_request"}'
            kinds = metrics(after.health_port)
        assert kinds[count] == kinds['toolreel_effect_seconds_bucket{kind="send_request",le="+Inf"}'] == 2


def test_a_worker_whose_database_is_away_is_alive_and_not_ready(postgres: Postgres) -> None:
    database = postgres.create("tests_1")
    with Worker(ScriptedEndpoint([]), database, poll_seconds=0.02, health=ANYWHERE) as worker:
        postgres.stop_at_once()
        try:
            status, why = asked(worker.health_port, "/readyz")
            assert (status, why.startswith("database: it is away: ")) == (503, True)
            assert asked(worker.health_port, "/metrics")[0] == 503
            assert asked(worker.health_port, "/livez")[0] == 200
        finally:
            postgres.start()


def test_an_address_that_is_none_or_taken_is_refused_and_the_slot_is_free_again(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'runs.db'}"
    with pytest.raises(DurableError, match="'9090' is not an address; write HOST:PORT"):
        Worker(ScriptedEndpoint([]), database, health="9090").start()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(DurableError, match=f"health: {address} cannot be used"):
            Worker(ScriptedEndpoint([]), database, health=address).start()
    with Worker(ScriptedEndpoint([]), database, health=ANYWHERE) as worker:
        assert worker.slot == "worker-1"
