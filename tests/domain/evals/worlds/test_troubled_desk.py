from __future__ import annotations

from toolreel_core._jsontext import Json, JsonText, parse
from toolreel_core.evals import Answer, Desk, Status, Trouble, TroubledDesk, at, failure

LATE = failure("pay", "TIMEOUT", "No answer.")
DESK = Desk((Answer.of("price", {"of": "tea"}, {"price": 3}),), ("pay",))


def orders(world: TroubledDesk) -> Json:
    return at(world.contents(), "/orders")


def test_calls_go_wrong_from_the_first_on() -> None:
    world = TroubledDesk(DESK, (Trouble("pay", LATE, calls=2),))
    for _ in range(2):
        world, output = world.call("pay", {"bill": "b-1"})
        assert output == LATE
        assert orders(world) == []
    world, output = world.call("pay", {"bill": "b-1"})
    assert at(parse(output), "/ok") is True
    assert orders(world) == [{"tool": "pay", "arguments": {"bill": "b-1"}}]


def test_other_tools_are_in_no_trouble_and_some_are_for_ever() -> None:
    world = TroubledDesk(DESK, (Trouble("pay", LATE, calls=None),))
    after, output = world.call("price", {"of": "tea"})
    assert output == JsonText('{"price":3}')
    for _ in range(5):
        after, output = after.call("pay", {})
        assert output == LATE


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
