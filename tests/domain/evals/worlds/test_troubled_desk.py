from __future__ import annotations

from toolreel_core._jsontext import parse
from toolreel_core.evals import Answer, Desk, Status, Trouble, TroubledDesk, at, failure

LATE = failure("pay", "TIMEOUT", "No answer.")
DESK = Desk((Answer.of("price", {"of": "tea"}, {"price": 3}),), ("pay",))


def test_a_call_may_go_through_without_saying_so_and_its_status_tells() -> None:
    status = Status("status", "pay", "bill")
    for noted in (True, False):
        world, _ = TroubledDesk(DESK, (Trouble("pay", LATE, noted=noted),), (status,)).call(
            "pay", {"bill": "b-1"}
        )
        assert len(world.desk.orders) == int(noted)
        same, output = world.call("status", {"bill": "b-1"})
        assert at(parse(output), "/data") == {"bill": "b-1", "found": noted}
        assert same.desk == world.desk
        _, output = world.call("status", {"bill": "b-2"})
        assert at(parse(output), "/data/found") is False
