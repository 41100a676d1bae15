"""Limits of an account over processes, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select, text, update

from tests.adapters.driver.immediate import ImmediateEndpoint
from tests.adapters.durable.limits_worker import Noting, request, send_all
from tests.adapters.durable.processes import FORKING
from tests.patience import HANG, eventually
from tests.servers.postgres import Postgres
from toolreel import Plan, Ports, Price, run
from toolreel._driver import limit_time_until
from toolreel.durable import (
    GRANTED,
    TICKETS,
    AsyncLimitedEndpoint,
    Ledger,
    LimitedEndpoint,
    Limits,
    QueueTurn,
    RequestEstimate,
    Started,
    limited,
    seconds_until_within_limits,
)
from toolreel.testing import Lost, ScriptedEndpoint, saying
from toolreel_core import LoopConfig
from toolreel_core._jsontext import canonical
from toolreel_core._plan import RequestOptions
from toolreel_core._protocol import ReplyReceived, RequestFailed, TransportFailed

LITTLE = RequestEstimate(10, 0.0)
LONG = 3_600.0
"""Seconds of a window that no test outlasts."""
WINDOW = 5.0
"""Seconds of a window that a test waits for: a waiting process asks fifty times in it."""


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database for limits."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return server.create()
    return str(tmp_path / "limits.sqlite")


def within(database: str, **settings: Any) -> Limits:  # noqa: ANN401 - whatever limits take
    return Limits(**{"account": "a", "database": database, "window": LONG, **settings})


OPENED: list[Ledger] = []


@pytest.fixture(autouse=True)
def closed() -> Generator[None]:
    """Closes the connections of the test, whatever becomes of it."""
    yield
    while OPENED:
        OPENED.pop().close()


def ledger_of(limits: Limits) -> Ledger:
    OPENED.append(Ledger.of(limits))
    return OPENED[-1]


def limited_here(endpoint: Any, limits: Limits) -> Any:  # noqa: ANN401 - sync or async
    made = limited(endpoint, limits)
    OPENED.append(made.ledger)
    return made


# how long to wait


@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 50)), max_size=40),
    st.integers(1, 5),
    st.one_of(st.none(), st.integers(50, 120)),
)
def test_no_window_has_more_than_the_limits_allow(
    asked: list[tuple[float, int]], requests: int, tokens: int | None
) -> None:
    limits = Limits("a", "unused", requests=requests, tokens=tokens, window=9, slack=1)
    started, now = list[Started](), 0.0
    for pause, took in asked:
        now += pause
        now += seconds_until_within_limits(started, now, took, limits)
        assert seconds_until_within_limits(started, now, took, limits) <= 1e-9
        started = [*started, Started(now, took)]
    for last in started:
        counted = [each for each in started if last.at - limits.span + 1e-6 < each.at <= last.at]
        assert len(counted) <= requests
        assert tokens is None or sum(each.tokens for each in counted) <= tokens


def test_three_processes_never_start_more_requests_in_a_window(shared: str) -> None:
    # Half the slack is for a machine that puts a process to sleep between its turn and its request.
    each = Limits("a", shared, requests=1, reply_tokens=1).estimate(request()).tokens
    accounts = [
        Limits("by requests", shared, requests=6, window=WINDOW, slack=10.0),
        Limits("by tokens", shared, tokens=6 * each, reply_tokens=1, window=WINDOW, slack=10.0),
    ]
    ends = [FORKING.Pipe() for _ in range(3)]
    workers = [
        FORKING.Process(target=send_all, args=(theirs, accounts, 4), daemon=True) for _, theirs in ends
    ]
    for worker in workers:
        worker.start()
    for ours, _ in ends:
        assert ours.poll(HANG)
        assert ours.recv() == "ready"
    for ours, _ in ends:
        ours.send("go")
    told: list[list[list[float]]] = []
    for ours, _ in ends:
        assert ours.poll(HANG)
        told.append(ours.recv())
    for worker in workers:
        worker.join(HANG)
    for number in range(len(accounts)):
        starts = sorted(moment for worker in told for moment in worker[number])
        assert len(starts) == 12
        gaps = [later - earlier for earlier, later in zip(starts, starts[6:], strict=False)]
        assert min(gaps) >= WINDOW


# the ledger


def joined(ledger: Ledger, estimate: RequestEstimate) -> int:
    """A ticket at the end of the queue, as one has it who has not asked yet."""
    ticket, turn = ledger.poll_ticket(None, estimate)
    if turn == GRANTED:
        ledger.give_turn_back(ticket)
    return ticket


def turn_of(ledger: Ledger, ticket: int) -> QueueTurn:
    return ledger.poll_ticket(ticket, LITTLE)[1]


def test_turns_come_in_the_order_of_the_tickets(shared: str) -> None:
    one, other = ledger_of(within(shared, requests=2)), ledger_of(within(shared, requests=2))
    first, second, third = joined(one, LITTLE), joined(other, LITTLE), joined(one, LITTLE)
    assert turn_of(other, second) == QueueTurn(0.0, is_next=False)
    assert turn_of(one, first) == GRANTED
    assert turn_of(one, third) == QueueTurn(0.0, is_next=False)
    assert turn_of(other, second) == GRANTED
    turn = turn_of(one, third)
    assert (turn.is_next, turn.seconds > LONG / 2) == (True, True)
    for each in (one, other):
        each.close()


def test_a_ticket_that_is_given_up_or_whose_process_died_holds_nobody_up(shared: str) -> None:
    ledger = ledger_of(within(shared, requests=1))
    first, dead, living = (joined(ledger, LITTLE) for _ in range(3))
    ledger.drop_ticket(first)
    with ledger.engine.begin() as connection:
        connection.execute(update(TICKETS).where(TICKETS.c.ticket == dead).values(alive_until=0.0))
    assert turn_of(ledger, living) == GRANTED
    assert ledger.poll_ticket(first, LITTLE)[0] != first


def test_whoever_was_only_slow_to_ask_keeps_the_place(shared: str) -> None:
    ledger = ledger_of(within(shared, requests=1))
    slow = joined(ledger, LITTLE)
    with ledger.engine.begin() as connection:
        connection.execute(update(TICKETS).where(TICKETS.c.ticket == slow).values(alive_until=0.0))
    assert turn_of(ledger, slow) == GRANTED


def test_a_turn_that_came_too_late_is_given_back_and_does_not_count(shared: str) -> None:
    ledger = ledger_of(within(shared, requests=1))
    late, next_ = joined(ledger, LITTLE), joined(ledger, LITTLE)
    assert turn_of(ledger, late) == GRANTED
    ledger.give_turn_back(late)
    assert turn_of(ledger, next_) == QueueTurn(0.0, is_next=False)
    assert turn_of(ledger, late) == GRANTED


@pytest.mark.parametrize("key", ["max_completion_tokens", "max_tokens", "max_output_tokens"])
def test_a_reply_is_estimated_at_the_limit_of_its_request(key: str) -> None:
    asked = request()
    capped = replace(asked, request=replace(asked.request, options=RequestOptions(canonical({key: 50_000}))))
    assert Limits("a", "unused", requests=1).estimate(capped).tokens > 50_000


def test_tokens_are_reserved_by_the_estimate_and_settled_by_usage(shared: str) -> None:
    ledger = ledger_of(within(shared, tokens=100))
    first, second = joined(ledger, RequestEstimate(90, 0.0)), joined(ledger, RequestEstimate(90, 0.0))
    assert turn_of(ledger, first) == GRANTED
    assert turn_of(ledger, second) != GRANTED
    ledger.settle_request(first, 10, None)
    assert turn_of(ledger, second) == GRANTED
    # Where nobody counted, the estimate stays.
    ledger.settle_request(second, None, None)
    assert turn_of(ledger, joined(ledger, LITTLE)) != GRANTED


def test_a_request_that_no_window_holds_is_refused(shared: str) -> None:
    ledger = ledger_of(within(shared, tokens=100))
    _, turn = ledger.poll_ticket(None, RequestEstimate(101, 0.0))
    assert turn.refusal.startswith(
        "the request is estimated at 101 tokens, and the account 'a' takes 100 in 3600 s"
    )


def test_retry_after_holds_for_all_processes_and_one_account(shared: str) -> None:
    one, other = ledger_of(within(shared, requests=9)), ledger_of(within(shared, requests=9))
    stranger = ledger_of(within(shared, requests=9, account="b"))
    limited_one = joined(one, LITTLE)
    assert turn_of(one, limited_one) == GRANTED
    one.settle_request(limited_one, 0, 0.0, retry_after=LONG)
    turn = turn_of(other, joined(other, LITTLE))
    assert turn.seconds > LONG / 2
    assert turn_of(stranger, joined(stranger, LITTLE)) == GRANTED


def spent_in(ledger: Ledger) -> object:
    with ledger.engine.begin() as connection:
        return connection.execute(text("SELECT spent FROM toolreel_limits_accounts")).scalar()


def test_costs_are_capped_over_all_processes(shared: str) -> None:
    one, other = ledger_of(within(shared, max_cost=1)), ledger_of(within(shared, max_cost=1))
    first, second = joined(one, RequestEstimate(10, 0.6)), joined(other, RequestEstimate(10, 0.6))
    assert turn_of(one, first) == GRANTED
    refused = turn_of(other, second)
    assert refused.refusal == (
        "the account 'a' has spent 0.6 of 1, and the request may take 0.6; raise max_cost to go on"
    )
    one.settle_request(first, 10, 0.2)
    one.settle_request(first, 10, 0.2)  # once is enough
    assert spent_in(one) == 0.2
    again = joined(other, RequestEstimate(10, 0.6))
    assert turn_of(other, again) == GRANTED
    other.settle_request(again, None, None)
    assert spent_in(other) == pytest.approx(0.8)


def test_what_no_window_counts_any_more_is_removed(shared: str) -> None:
    ledger = ledger_of(within(shared, requests=9, max_cost=9))
    settled, lost = joined(ledger, LITTLE), joined(ledger, RequestEstimate(10, 0.5))
    assert (turn_of(ledger, settled), turn_of(ledger, lost)) == (GRANTED, GRANTED)
    ledger.settle_request(settled, 5, 0.25)
    with ledger.engine.begin() as connection:
        connection.execute(update(TICKETS).values(started_at=1.0))
    last = joined(ledger, LITTLE)
    assert turn_of(ledger, last) == GRANTED
    with ledger.engine.begin() as connection:
        assert connection.execute(select(func.count()).select_from(TICKETS)).scalar() == 1
    # A request of a process that died counts as spent.
    assert spent_in(ledger) == 0.75


# endpoints


def refused_by(endpoint: LimitedEndpoint) -> RequestFailed:
    answer = endpoint.send(request())
    assert isinstance(answer, RequestFailed)
    return answer


def test_a_wait_that_the_run_has_no_time_for_ends_at_once(shared: str) -> None:
    endpoint = limited_here(Noting(), within(shared, requests=1))
    assert isinstance(endpoint.send(request()), ReplyReceived)
    with limit_time_until(0.0):
        answer = refused_by(endpoint)
    assert (answer.failure, answer.status) == ("status", 429)
    assert answer.message.startswith("the account 'a' is at its limits for ")
    plan = Plan.of(model="m", messages="hi", config=LoopConfig(max_wall_ms=60_000))
    assert isinstance(run(plan, Ports(endpoint)).outcome, TransportFailed)
    patient = LoopConfig(max_wall_ms=1_000, max_tries=3, retry_cap_ms=10**9)
    ended = run(Plan.of(model="m", messages="hi", config=patient), Ports(endpoint))
    assert isinstance(ended.outcome, TransportFailed)
    endpoint.close()


def test_money_that_is_spent_refuses_with_402(shared: str) -> None:
    price = Price(1_000_000, 1_000_000)
    endpoint = limited_here(Noting(), within(shared, max_cost=1, price=price))
    answer = refused_by(endpoint)
    assert (answer.status, "raise max_cost to go on" in answer.message) == (402, True)


@pytest.mark.parametrize(
    ("answers", "tokens"),
    [
        ({**saying("Hello."), "usage": {"prompt_tokens": 3, "completion_tokens": 4}}, 7),
        (Lost("status", "down", 503), 0),
        (Lost("connect", "refused"), 0),
        (Lost("timeout", "late"), None),
        (saying("Hello."), None),
    ],
)
def test_answers_settle_what_was_reserved(answers: Any, tokens: int | None, tmp_path: Path) -> None:  # noqa: ANN401
    limits = within(str(tmp_path / "limits.sqlite"), tokens=10**6, price=Price(1_000_000, 0))
    endpoint = limited_here(ScriptedEndpoint([answers]), limits)
    endpoint.send(request())
    with endpoint.ledger.engine.begin() as connection:
        [row] = connection.execute(select(TICKETS)).all()
    estimate = limits.estimate(request())
    assert (row.tokens, row.settled) == (estimate.tokens if tokens is None else tokens, True)
    spent = {7: 3.0, 0: 0.0, None: estimate.cost}[tokens]
    assert spent_in(endpoint.ledger) == pytest.approx(spent)


@pytest.mark.parametrize("on", [lambda main: asyncio.run(main()), trio.run])
def test_waiting_can_be_cancelled_and_leaves_no_ticket(on: Any, shared: str) -> None:  # noqa: ANN401
    endpoint = limited_here(ImmediateEndpoint(Noting()), within(shared, requests=1))
    assert isinstance(endpoint, AsyncLimitedEndpoint)

    async def main() -> None:
        assert isinstance(await endpoint.send(request()), ReplyReceived)
        with anyio.move_on_after(0.2) as scope:
            await endpoint.send(request())
        assert scope.cancelled_caught

    on(main)
    waiting = select(TICKETS.c.ticket).where(TICKETS.c.started_at.is_(None))

    def nobody_waits() -> bool:
        with endpoint.ledger.engine.begin() as connection:
            return connection.execute(waiting).first() is None

    eventually(nobody_waits, "the ticket to be given up")
    endpoint.close()


def test_a_stream_has_its_turn_too(shared: str) -> None:
    limits = within(shared, requests=2, max_wait=0.01)
    endpoint = limited_here(ScriptedEndpoint([saying("Hello."), saying("Again.")]), limits)
    *_, last = endpoint.stream(request())
    assert isinstance(last, ReplyReceived)

    async def streamed() -> list[object]:
        slow = limited_here(ImmediateEndpoint(ScriptedEndpoint([saying("Hello.")])), limits)
        pieces = [piece async for piece in slow.stream(request())]
        return [*pieces, *[piece async for piece in slow.stream(request())]]

    *_, event, refused = asyncio.run(streamed())
    assert isinstance(event, ReplyReceived)
    assert isinstance(refused, RequestFailed)
    assert [type(piece) for piece in endpoint.stream(request())] == [RequestFailed]
