from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint, worked
from toolreel_core._config_checks import PlaceError
from toolreel_core._plan import Presets
from toolreel_core._settings import Price

SHIPPED: dict[str, Any] = {
    "preset": {"cloud": {"defaults_for": ["cloud", "the_cloud"]}},
    "price": {
        "small": {"patterns": ["a/small", "a/small-20*"], "provider": "cloud", "input": 1, "output": 2},
        "a/*": {"input": 3, "output": 4},
    },
}
PRICES = Presets().extended(Presets.of(SHIPPED))


@pytest.mark.parametrize(
    ("provider", "model", "figures"),
    worked("the most exact price of the seller holds", "runs-and-plans"),
)
def test_the_most_exact_price_of_the_seller_holds(
    provider: str, model: str, figures: list[int] | None
) -> None:
    price = figures and Price(input=figures[0], output=figures[1])
    assert PRICES.price(provider, model) == price
    assert PRICES.for_(provider, model).price == price
    assert PRICES.for_(provider, model).plan(model="m", messages="hi").price == price


def test_a_price_of_your_own_holds_over_the_shipped_one() -> None:
    own = Presets.of({"price": {"a/small": {"input": 5, "output": 6}}})
    assert PRICES.extended(own).price("cloud", "a/small") == Price(5, 6)
    renewed = Presets.of({"price": {"small": {"patterns": ["a/small"], "input": 7, "output": 8}}})
    assert PRICES.extended(renewed).price("elsewhere", "a/small") == Price(7, 8)


def test_a_price_of_the_plan_holds_over_that_of_its_preset() -> None:
    preset = PRICES.for_("cloud", "a/small")
    assert preset.plan(model="m", messages="hi", price=Price(9, 9)).price == Price(9, 9)
    assert preset.merged(Presets().base).price == Price(1, 2)


@pytest.mark.parametrize(("entry", "said"), worked("a wrong price says where it stands", "runs-and-plans"))
def test_a_wrong_price_says_where_it_stands(entry: dict[str, Any], said: str) -> None:
    assert complaint(PlaceError, lambda: Presets.of({"price": {"x": entry}})) == said
