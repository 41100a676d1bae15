"""An evaluation whose runs are tasks in a database, which any number of processes make.

The process of ``eval run --durable`` queues them, makes some itself, and writes down what all of them gave;
those of ``eval work`` only make runs. A run whose process dies is made again by another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event

from toolreel.durable._store.database import database_url
from toolreel.durable._tasks import Tasks, TaskWorker
from toolreel.evals._runner.connection import Connection, RunRecorder
from toolreel.evals._runner.evaluation import cassette_name, jobs_of
from toolreel.evals._runner.locations import located
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._runner.spending import CostGuard
from toolreel.evals._runner.trial import Job
from toolreel.evals._runner.worker_pool import JobEnded
from toolreel.evals._store.recordings import RecordingFiles
from toolreel.evals._store.results import Header, Results, all_records, read_header, safe_line
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._jsontext.digest import digest
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record, record_of

_POLL: float = 0.1


def queue_of(header: Header) -> str:
    """The queue of an evaluation: of this directory, as it was begun, and with this plan."""
    return f"eval {digest(header.created + canonical(header.plan))[:16]}"


class DurablePool:
    """Makes the runs of one round in all processes that work on the evaluation; as ``WorkerPool`` otherwise.

    :param folder: the directory of the results, with its header
    """

    def __init__(
        self,
        folder: Path,
        database: str | None,
        secrets: Mapping[str, str],
        jobs: Iterator[Job],
        threads: int,
        run: Callable[[Job], Record],
        stop: Event,
    ) -> None:
        url, queue = database_url(database), queue_of(read_header(folder / "header.json"))
        made = Counter(record.key for record in all_records(folder))
        self._tasks = Tasks(url, queue)
        self._stop = stop
        by_key = dict[str, Job]()
        for job in jobs:
            key = job.sample.key
            by_key[key] = job
            self._tasks.put(f"{key}~{made[key]}", key)  # a void run is made again as another task
        self._worker = TaskWorker(
            url, queue, lambda key: safe_line(run(by_key[key]), secrets), threads, _POLL
        )
        self._done = self._tasks.done(_POLL)

    def next_ended(self) -> Sequence[JobEnded[Record]]:
        """Wait for the next run that ends, wherever; none when all have."""
        if self._stop.is_set():
            self._tasks.drop()
        done = next(self._done, None)
        if done is None:
            self._worker.close()
            self._tasks.close()
            return ()
        if done.problem:
            return (JobEnded(error=RuntimeError(done.problem)),)
        return (JobEnded(record_of(done.result)),)


def work(folder: Path, database: str | None, connect: Callable[[EvalPlan], Connection], stop: Event) -> int:
    """Make runs of an evaluation that another process has begun, until ``stop`` is set; returns how many.

    :raises ResultsError: if there is no evaluation in the directory
    """
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    job_for, made = jobs_of(plan), Counter[str]()
    samples = {sample.key: sample for sample in plan.samples()}
    with closing(connect(plan)) as connection:
        recorder = RunRecorder(connection, RecordingFiles(folder))
        guard = CostGuard(plan.budget, plan.options.price_list, stop)

        def run(key: str) -> str:
            job = job_for(samples[key])
            with recorder.context(job, cassette_name(job.sample)) as (context, saved):
                record = located(guard.run(job, context), plan)
                made[key] += 1
                return safe_line(record, connection.secrets, saved())

        worker = TaskWorker(database_url(database), queue_of(results.header), run, plan.jobs, _POLL)
        stop.wait()
        worker.close()
    return made.total()
