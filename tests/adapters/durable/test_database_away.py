"""A run goes on when the database refused to store one of its steps: this program has not failed."""

from __future__ import annotations

import time
from threading import Thread

import psycopg
import pytest

from tests.servers.postgres import Postgres
from toolreel import Plan
from toolreel.durable import DurableRuns, Worker
from toolreel.testing import ScriptedEndpoint, saying
from toolreel_core import Completed, ReplyReceived, RequestFailed, SendRequest

LONG = 300.0
WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


LOSES_ITS_CONNECTION = """
CREATE SEQUENCE tried;
CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('tried') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER lose BEFORE INSERT OR UPDATE ON dbos.{table} FOR EACH ROW EXECUTE FUNCTION lose();
"""


@pytest.mark.parametrize("table", ["application_versions", "queues"])
def test_a_worker_starts_although_the_database_goes_away_meanwhile(postgres: Postgres, table: str) -> None:
    database = postgres.create("tests_1")
    with psycopg.connect(database) as connection:
        connection.execute(LOSES_ITS_CONNECTION.format(table=table).encode())
    model = ScriptedEndpoint([saying("Four.")])
    with DurableRuns(database) as runs, Worker(model, database, poll_seconds=0.02):
        runs.submit(Plan.of(model="m", messages="How many?"), "run")
        assert runs.wait("run", LONG, poll_seconds=0.05).run.outcome == Completed("Four.")
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT last_value > 1 FROM tried").fetchone() == (True,)


class Cancelling:
    """A model whose first reply cannot be stored: somebody cancels the query, which DBOS raises."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._model = ScriptedEndpoint([saying("Lost."), saying("Four.")])
        self.sent: list[int] = []

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        self.sent.append(effect.ref)
        if len(self.sent) == 1:
            held = psycopg.connect(self._database)
            held.execute("LOCK TABLE dbos.operation_outputs IN EXCLUSIVE MODE")
            Thread(target=self._cancel, args=[held]).start()
        return self._model.send(effect)

    def _cancel(self, held: psycopg.Connection) -> None:
        """Cancel the query that waits for a lock, and let go of the lock."""
        with held, psycopg.connect(self._database, autocommit=True) as other:
            while not (waiting := other.execute(WAITING).fetchall()):
                time.sleep(0.02)
            for (pid,) in waiting:
                other.execute("SELECT pg_cancel_backend(%s)", [pid])


def test_a_run_whose_step_could_not_be_stored_goes_back_to_the_queue(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    database = postgres.create("tests_1")
    model = Cancelling(database)
    with DurableRuns(database) as runs:
        runs.submit(Plan.of(model="m", messages="How many?"), "run")
        with caplog.at_level("INFO", "toolreel"), Worker(model, database, poll_seconds=0.02):
            done = runs.wait("run", LONG, poll_seconds=0.05)
    assert (done.summary.status, done.summary.problem) == ("ended", "")
    assert done.run.outcome == Completed("Four.")
    assert model.sent == [1, 1], "what could not be stored is done again"
    told = [vars(record) for record in caplog.records if record.name == "toolreel.durable"]
    assert [(record["event"], record["levelname"], record.get("status")) for record in told] == [
        ("run_queued_again", "WARNING", None),
        ("run_rests", "INFO", "queued"),
        ("run_rests", "INFO", "ended"),
    ]
    assert (told[0]["run"], told[0]["interruption"], told[0]["error"]) == ("run", 1, "OperationalError")
    levels = {record.levelname for record in caplog.records if record.name.startswith("toolreel")}
    assert levels == {"INFO", "WARNING"}
