"""Durable runs from submitting to their end, on both databases, with a worker in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import compress
from pathlib import Path
from threading import Barrier, Timer
from typing import Any

import pytest

from tests.adapters.durable.shop import Shop, Slow, execute, plan_of, undisturbed
from tests.patience import eventually
from toolreel import AsyncPorts, Plan, Ports, PythonTools, run, tool
from toolreel._journal import MemoryJournal, parse_journal
from toolreel.durable import Awaited, DurableRuns, Store, Worker, database_url, take_slot
from toolreel.errors import DurableError
from toolreel.http import AsyncHttpEndpoint
from toolreel.ports import Endpoints
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel_core import (
    ApprovalGiven,
    CancelRequested,
    Completed,
    ConfigError,
    FallbackPlan,
    LoopConfig,
    RunTool,
    ToolReturned,
)
from toolreel_core.outcomes import BudgetSpent, Cancelled

POLL = 0.02
LONG = 300.0


def worker(performer: Any, database: str, **options: Any) -> Worker:  # noqa: ANN401 - those of a worker
    return Worker(performer, database, poll_seconds=POLL, **options)


def ended(runs: DurableRuns, run_id: str) -> object:
    done = runs.wait(run_id, LONG, poll_seconds=POLL)
    assert done.summary.status == "ended", done.summary
    return done.run.outcome


def test_a_durable_run_is_the_run_that_nothing_durable_is_about(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    plans = {f"run-{parts}": plan_of(f"run-{parts}", parts, shop.tools.surface) for parts in range(3)}
    with DurableRuns(database) as runs:
        for name, plan in plans.items():
            assert runs.submit(plan, name) == name
            assert runs.submit(plan, name) == name, "submitting twice is submitting once"
        with pytest.raises(DurableError, match="another plan"):
            runs.submit(plans["run-1"], "run-2")
        assert runs.counts() == {"queued": 3}
        with worker(shop.ports, database):
            for name, plan in plans.items():
                assert ended(runs, name) == Completed(f"{name[-1]} parts ordered.")
                assert runs.get(name).digest == undisturbed(plan, Shop(tmp_path / f"other-{name}"))
        assert [each.run_id for each in runs.list(limit=2)] == ["run-2", "run-1"]
        assert len(runs.list(status="ended")) == 3
    keys = [did.key for did in shop.did if did.key != "-"]
    assert len(keys) == len(set(keys)) == 3


def test_somebody_else_approves_while_no_worker_is_there(database: str) -> None:
    paid: list[int] = []

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    tools = PythonTools([pay])
    plan = Plan.of(model="m", messages="Pay!", tools=tools.surface)
    with DurableRuns(database) as runs:
        runs.submit(plan, "pay")
        with worker(Ports(ScriptedEndpoint([calling(("pay", {"amount": 7}))]), tools), database):
            assert runs.wait("pay", LONG, poll_seconds=POLL).summary.status == "waiting"
        (waits,) = runs.summary("pay").waits_for
        assert (waits.name, waits.arguments, waits.why) == ("pay", '{"amount":7}', "approval")
        assert runs.approve("pay") == waits
        with pytest.raises(DurableError, match="waits for no decision"):
            runs.deny("pay")
        with worker(Ports(ScriptedEndpoint([calling(("pay", {"amount": 8}))]), tools), database):
            assert runs.wait("pay", LONG, poll_seconds=POLL).summary.status == "waiting"
        runs.deny("pay", "once is enough")
        with worker(Ports(ScriptedEndpoint([saying("Paid once.")]), tools), database):
            assert ended(runs, "pay") == Completed("Paid once.")
        assert "once is enough" in runs.get("pay").recorded.text
    assert paid == [7]


def waiting_for_approval(runs: DurableRuns, database: str) -> Awaited:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        return f"paid {amount}"

    tools = PythonTools([pay])
    runs.submit(Plan.of(model="m", messages="Pay!", tools=tools.surface), "pay")
    with worker(Ports(ScriptedEndpoint([calling(("pay", {"amount": 7}))]), tools), database):
        (call,) = runs.wait("pay", LONG, poll_seconds=POLL).summary.waits_for
    return call


def test_one_of_two_decisions_at_once_counts_and_the_other_is_told_so(database: str) -> None:
    together = Barrier(2)
    with DurableRuns(database) as runs, DurableRuns(database) as others, ThreadPoolExecutor(2) as threads:
        waiting_for_approval(runs, database)

        def decides(decide: Callable[[str], object]) -> str:
            together.wait()
            try:
                return str(decide("pay"))
            except DurableError as late:
                return str(late)

        answers = [*threads.map(decides, (runs.approve, others.deny))]
        assert sum("waits for no decision" in each for each in answers) == 1, answers
        assert execute(database, "SELECT said FROM toolreel_runs") == [(1,)]


def test_a_decision_that_is_repeated_since_its_answer_was_lost_counts_once(database: str) -> None:
    with DurableRuns(database) as runs, closing(Store(database_url(database))) as store:
        call = waiting_for_approval(runs, database)
        given = ApprovalGiven(call.ref, approved=True)
        assert not store.add_to_inbox("pay", given, "other", "0" * 64), "it waits for another decision"
        assert store.add_to_inbox("pay", given, "token", call.fingerprint)
        assert store.add_to_inbox("pay", given, "token", call.fingerprint)
        assert not store.add_to_inbox("pay", given, "later", call.fingerprint)
        assert execute(database, "SELECT said, wakeups FROM toolreel_runs") == [(1, 2)]


def test_the_user_speaks_before_and_after_the_end(database: str) -> None:
    plan = Plan.of(model="m", messages="Hello!")
    with DurableRuns(database) as runs:
        runs.submit(plan, "talk")
        with worker(ScriptedEndpoint([saying("Hi."), saying("Fine."), saying("Bye.")]), database):
            assert ended(runs, "talk") == Completed("Hi.")
            for said, answer in (("How are you?", "Fine."), ("See you!", "Bye.")):
                runs.speak("talk", said)
                assert ended(runs, "talk") == Completed(answer)
        told = [message.content for message in runs.get("talk").run.messages]
    assert told == ["Hello!", "Hi.", "How are you?", "Fine.", "See you!", "Bye."]


def test_a_run_is_cancelled_before_it_begins_and_while_it_waits(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    with DurableRuns(database) as runs:
        runs.submit(plan_of("never", 1, shop.tools.surface), "never")
        runs.cancel("never", "not wanted")
        with worker(shop.ports, database):
            assert ended(runs, "never") == Cancelled("not wanted")
            runs.cancel("never", "again")
            assert ended(runs, "never") == Cancelled("not wanted")
        runs.cancel("never", "without a worker, which might refuse it")
        assert runs.summary("never").status == "ended"
        assert runs.counts() == {"ended": 1}
    assert shop.did == []


def test_a_worker_without_the_tools_refuses_and_one_with_them_goes_on(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 1, shop.tools.surface), "a")
        with worker(Ports(shop, PythonTools([])), database):
            refused = runs.wait("a", LONG, poll_seconds=POLL).summary
        assert (refused.status, shop.did) == ("refused", [])
        assert "the run had a tool 'order'" in refused.problem
        runs.resume("a")
        with worker(shop.ports, database):
            assert ended(runs, "a") == Completed("1 parts ordered.")


def test_a_refused_run_is_cancelled_by_a_worker_without_its_tools(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    without = Ports(shop, PythonTools([]))
    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 1, shop.tools.surface), "a")
        with worker(without, database):
            assert runs.wait("a", LONG, poll_seconds=POLL).summary.status == "refused"
        runs.cancel("a")
        runs.speak("a", "Another part!")
        with worker(without, database):
            refused = runs.wait("a", LONG, poll_seconds=POLL)
            assert (refused.summary.status, shop.did) == ("refused", []), "to go on needs its tools again"
            assert isinstance(refused.recorded.events[-2], CancelRequested)
            runs.cancel("a", "not wanted")
            assert ended(runs, "a") == Cancelled("not wanted")
    assert shop.did == []


def test_a_run_goes_on_at_a_fallback_and_a_worker_without_it_refuses(database: str) -> None:
    fallbacks = [FallbackPlan("spare", model="n", on=("not_found",))]
    plan = Plan.of(model="m", messages="Hi!", config=LoopConfig(max_tries=1), fallbacks=fallbacks)
    first, spare = ScriptedEndpoint([Lost("status", "gone", 404)]), ScriptedEndpoint([saying("Hello.")])

    class Server(ScriptedEndpoint):
        address = "http://127.0.0.1:1"  # as those have that know one server only

    with DurableRuns(database) as runs:
        runs.submit(plan, "a")
        with worker(Server([]), database):
            refused = runs.wait("a", LONG, poll_seconds=POLL).summary
        assert (refused.status, "the plan falls back to 'spare'" in refused.problem) == ("refused", True)
        assert refused.problem.endswith("then queue it again with `toolreel durable adopt --failed RUN`")
        runs.resume("a")
        with worker(Endpoints(first, {"spare": spare}), database):
            assert ended(runs, "a") == Completed("Hello.")


def test_a_bug_in_a_port_fails_the_run_and_resuming_repeats_nothing(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")

    class Broken:
        surface = shop.tools.surface

        def run(self, effect: RunTool) -> ToolReturned:
            raise ZeroDivisionError(f"no such shop: {type(effect).__name__}")

    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 1, shop.tools.surface), "a")
        with worker(Ports(shop, Broken()), database):
            failed = runs.wait("a", LONG, poll_seconds=POLL).summary
        assert (failed.status, failed.events) == ("failed", 1)
        assert failed.problem == "run_tool 2: ZeroDivisionError: no such shop: RunTool"
        runs.resume("a")
        with worker(shop.ports, database):
            assert ended(runs, "a") == Completed("1 parts ordered.")
        with pytest.raises(DurableError, match="it is ended"):
            runs.resume("a")
    assert [did.step for did in shop.did] == [0, 1, 2]


REPLACE = "UPDATE {dbos}operation_outputs SET output = replace(output, :old, :new)"


def test_a_reducer_that_wants_something_else_is_refused_and_nothing_changes(
    database: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path / "log")
    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 1, shop.tools.surface), "a")
        with worker(shop.ports, database):
            ended(runs, "a")
        recorded = runs.get("a").recorded
        # What another release would have stored for its second effect, which this one would not perform.
        assert recorded.records[1].fp is not None
        execute(database, REPLACE, old=recorded.records[1].fp, new="0" * 64)
        changed = runs.get("a").recorded.text
        runs.speak("a", "More?")
        with worker(shop.ports, database):
            refused = runs.wait("a", LONG, poll_seconds=POLL).summary
        assert refused.status == "refused"
        assert "this release of toolreel would do something else" in refused.problem
        assert runs.get("a").recorded.text == changed != recorded.text
        assert [did.step for did in shop.did] == [0, 1, 2]
        execute(database, REPLACE, old="0" * 64, new=recorded.records[1].fp)
        runs.resume("a")
        with worker(shop.ports, database):
            assert ended(runs, "a") == Completed("1 parts ordered.")


def test_only_one_of_many_takes_a_run(database: str) -> None:
    with DurableRuns(database) as runs:
        runs.submit(Plan.of(model="m", messages="Hi!"), "wanted")
    store = Store(database_url(database), connections=10)
    names = [f"wanted~{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            together = Barrier(8)

            def takes(name: str, together: Barrier = together) -> bool:
                together.wait()
                return store.claim_run("wanted", name) is not None

            (taken,) = compress(names, threads.map(takes, names))
            assert store.claim_run("wanted", taken) is not None, "the one that has it may take it again"
            execute(database, "UPDATE toolreel_runs SET active = NULL")
    store.close()


def test_a_worker_that_died_just_after_a_run_rested_changes_nothing(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 1, shop.tools.surface), "a")
        with worker(shop.ports, database):
            assert ended(runs, "a") == Completed("1 parts ordered.")
        rested = runs.summary("a")
        # As its worker would have left it: the run has rested, and its segment is not over.
        execute(database, "UPDATE {dbos}workflow_status SET status = 'PENDING', output = NULL")
        over = "SELECT count(*) FROM {dbos}workflow_status WHERE status = 'SUCCESS'"
        with worker(shop.ports, database):
            eventually(lambda: execute(database, over) == [(1,)], "the segment is over")
        assert runs.summary("a") == rested
    assert [did.step for did in shop.did] == [0, 1, 2]


def test_a_worker_that_is_alive_keeps_its_slot(database: str) -> None:
    with worker(ScriptedEndpoint([]), database, slot="shelf") as first:
        assert first.slot == "shelf"
        with pytest.raises(DurableError, match="alive"):
            take_slot(database_url(database), "toolreel", "shelf")
        other = take_slot(database_url(database), "toolreel", None)
        assert other.name == "worker-1"
        other.give_up()


def test_a_wait_ends_with_the_time_of_the_run(database: str) -> None:
    patient = LoopConfig(max_wall_ms=2_500, retry_base_ms=600_000, retry_cap_ms=600_000)
    with DurableRuns(database) as runs:
        runs.submit(Plan.of(model="m", messages="Hi!", config=patient), "waits")
        with worker(ScriptedEndpoint([Lost("status", "later", 429)]), database):
            outcome = ended(runs, "waits")
        assert isinstance(outcome, BudgetSpent)
        assert (outcome.kind, outcome.limit, outcome.used >= 2_500) == ("time", 2_500, True)


def test_a_run_that_waits_for_a_retry_is_cancelled(database: str) -> None:
    patient = LoopConfig(retry_base_ms=600_000, retry_cap_ms=600_000)
    with DurableRuns(database) as runs:
        runs.submit(Plan.of(model="m", messages="Hi!", config=patient), "waits")
        with worker(ScriptedEndpoint([Lost("status", "later", 429)]), database):
            eventually(lambda: "request_failed" in runs.get("waits").recorded.text, "the request has failed")
            runs.cancel("waits", "not wanted")
            assert ended(runs, "waits") == Cancelled("not wanted")


def test_a_worker_that_stops_sits_through_no_wait(database: str) -> None:
    patient = LoopConfig(retry_base_ms=600_000, retry_cap_ms=600_000)
    with DurableRuns(database) as runs:
        runs.submit(Plan.of(model="m", messages="Hi!", config=patient), "waits")
        with worker(ScriptedEndpoint([Lost("status", "later", 429)]), database) as first:
            eventually(lambda: "request_failed" in runs.get("waits").recorded.text, "the request has failed")
            assert first.stop(LONG)
        assert runs.counts() == {"queued": 1}


def test_a_worker_that_stops_lets_its_runs_rest_and_another_goes_on(database: str, tmp_path: Path) -> None:
    shop, names = Shop(tmp_path / "log"), ("a", "b", "c")
    slow = Slow(shop)
    with DurableRuns(database) as runs:
        for name in names:
            runs.submit(plan_of(name, 2, shop.tools.surface), name)
        first = worker(Ports(shop, slow), database, concurrency=2)
        first.start()
        slow.in_a_call.wait(LONG)
        Timer(0.1, slow.go_on.set).start()
        assert first.stop(LONG), "every effect that was under way has ended"
        assert runs.counts() == {"queued": 3}
        with worker(shop.ports, database):
            for name in names:
                assert ended(runs, name) == Completed("2 parts ordered.")
    for name in names:
        assert [did.step for did in shop.did if did.run == name] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("decided", ["approved", "denied"])
def test_a_call_that_a_dead_worker_may_have_made_waits_where_that_is_asked_for(
    database: str, tmp_path: Path, decided: str
) -> None:
    shop = Shop(tmp_path / "log")

    class Breaking(Shop):
        """As far as anybody can tell, its worker died in the middle of the call."""

        def run(self, effect: RunTool) -> ToolReturned:
            self.tools.run(effect)
            raise KeyError("gone")

    broken = Breaking(tmp_path / "log")
    with DurableRuns(database) as runs:
        runs.submit(plan_of("a", 1, shop.tools.surface), "a")
        with worker(Ports(broken, broken), database):
            assert runs.wait("a", LONG, poll_seconds=POLL).summary.status == "failed"
        runs.resume("a")
        execute(database, "UPDATE toolreel_runs SET interrupted = 1")
        with worker(shop.ports, database, uncertain="ask"):
            (waits,) = runs.wait("a", LONG, poll_seconds=POLL).summary.waits_for
            assert (waits.name, waits.why) == ("order", "uncertain")
            runs.approve("a") if decided == "approved" else runs.deny("a", "It is on its way.")
            ended(runs, "a")
        text = runs.get("a").recorded.text
        assert ("ordered 0" in text) == (decided == "approved")
        assert ("It may have had effects. It is on its way." in text) == (decided == "denied")
    keys = [did.key for did in shop.did if did.key != "-"]
    assert (len(keys), len({*keys})) == ((2, 1) if decided == "approved" else (1, 1))


def test_parallel_calls_are_the_same_run(database: str) -> None:
    def stock(part: str) -> str:
        """How many of a part are in stock."""
        return f"4 {part}s"

    tools = PythonTools([tool(read_only=True)(stock)])
    asking = calling(("stock", {"part": "pin"}), ("stock", {"part": "nut"}), ("stock", {"part": "cog"}))
    script = [asking, saying("Enough.")]
    plan = Plan.of(model="m", messages="Hi!", tools=tools.surface, config=LoopConfig(parallel_tools=True))
    journal = MemoryJournal(plan)
    run(plan, Ports(ScriptedEndpoint(script), tools), journal=journal)
    with DurableRuns(database) as runs:
        runs.submit(plan, "all")
        with worker(Ports(ScriptedEndpoint(script), tools), database):
            assert ended(runs, "all") == Completed("Enough.")
        assert runs.get("all").digest == parse_journal(journal.text).digest


def test_a_result_with_a_secret_is_not_stored(database: str) -> None:
    def key() -> str:
        """The key."""
        return "hunter-2-hunter-2"

    tools = PythonTools([key])
    plan = Plan.of(model="m", messages="Hi!", tools=tools.surface)

    class Keyed(ScriptedEndpoint):
        secrets = {"KEY": "hunter-2-hunter-2"}  # noqa: RUF012 - as endpoints have it

    with DurableRuns(database) as runs:
        runs.submit(plan, "kept")
        with worker(Ports(Keyed([calling(("key", {})), saying("No.")]), tools), database):
            assert ended(runs, "kept") == Completed("No.")
        runs.submit(plan, "told")
        with worker(Ports(Keyed([saying("It is hunter-2-hunter-2")]), tools), database):
            assert isinstance(ended(runs, "told"), Cancelled)
        text = runs.get("kept").recorded.text + runs.get("told").recorded.text
    assert "RESULT_WITHHELD" in text
    assert "hunter-2" not in text


def test_a_worker_refuses_what_is_to_be_awaited(database: str) -> None:
    endpoint = AsyncHttpEndpoint("http://127.0.0.1:1")  # opens no connection
    for given, sentence in (
        (AsyncPorts(endpoint), "AsyncPorts is async"),
        (endpoint, "AsyncHttpEndpoint is async"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            worker(given, database)
