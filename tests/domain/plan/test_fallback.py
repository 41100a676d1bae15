"""Further endpoints of a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.samples import worked
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core._plan import OF_RUN, REASONS, FallbackPlan, Plan
from toolreel_core._settings import LoopConfig, Price, Provider

BACKUP = FallbackPlan("backup", model="b")


def planned(*fallbacks: FallbackPlan, **parts: Any) -> Plan:  # noqa: ANN401 - whatever a plan takes
    return Plan.of(**{"model": "a", "messages": "hi", **parts}, fallbacks=fallbacks)


@pytest.mark.parametrize(
    ("parts", "wrong"), worked("a fallback says what is wrong with it", "runs-and-plans")
)
def test_a_fallback_says_what_is_wrong_with_it(parts: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ConfigError) as error:
        FallbackPlan(**{"name": "backup", "model": "b", **parts})
    assert str(error.value).startswith(wrong)


def test_a_plan_says_which_fallback_is_wrong() -> None:
    for fallbacks, wrong in (
        ((BACKUP, BACKUP), "fallbacks[1]: there are two named 'backup'; give each a name of its own"),
        ((replace(BACKUP, model=" "),), "fallbacks[0]: model: expected the name of a model"),
    ):
        with pytest.raises(ConfigError) as error:
            planned(*fallbacks)
        assert str(error.value).startswith(wrong)
    odd: Any
    for odd in ([BACKUP], ("backup",)):
        with pytest.raises(ConfigError, match="takes a tuple of FallbackPlan"):
            replace(planned(), fallbacks=odd)


def test_costs_are_added_up_in_one_currency() -> None:
    dear = replace(BACKUP, price=Price(1, 1, currency="EUR"))
    with pytest.raises(ConfigError, match="prices in EUR and USD cannot be added up"):
        planned(dear, price=Price(1, 1))
    assert planned(dear).at_fallbacks[0].price == Price(1, 1, currency="EUR")


def test_a_limit_of_costs_needs_a_price_everywhere() -> None:
    silent = replace(BACKUP, provider=Provider(reports_cost="no"))
    with pytest.raises(ConfigError, match=r"fallbacks\[0\]: max_cost: the price of 'b' is unknown"):
        planned(silent, price=Price(1, 1), config=LoopConfig(max_cost=1))


def test_settings_that_a_run_has_once_are_those_of_the_plan() -> None:
    there = LoopConfig(max_turns=3, max_tries=7)
    at = planned(replace(BACKUP, config=there), config=LoopConfig(max_turns=5)).at_fallbacks[0].config
    assert (at.max_turns, at.max_tries) == (5, 7)
    assert set(OF_RUN) <= set(LoopConfig.__dataclass_fields__)


def test_what_a_plan_says_of_its_endpoint_makes_a_fallback() -> None:
    plan = planned(model="b", options={"top_p": 1}, provider=Provider(name="x"), price=Price(1, 2))
    there = plan.as_fallback("backup", on=("timeout",), foreign_reasoning="drop")
    assert there == FallbackPlan(
        "backup",
        model="b",
        options=canonical({"top_p": 1}),
        provider=Provider(name="x"),
        price=Price(1, 2),
        on=("timeout",),
        foreign_reasoning="drop",
    )
    assert plan.as_fallback("backup").on == REASONS


def test_the_digest_covers_all_that_decides_something() -> None:
    limited = LoopConfig(max_cost=1, unknown_cost="allow")
    variants = [
        BACKUP,
        replace(BACKUP, name="other"),
        replace(BACKUP, model="c"),
        FallbackPlan("backup", model="b", options=canonical({"top_p": 1})),
        FallbackPlan("backup", model="b", overrides=canonical({"top_p": 1})),
        replace(BACKUP, config=LoopConfig(max_tries=1)),
        replace(BACKUP, provider=Provider(name="x")),
        replace(BACKUP, on=("timeout",)),
        replace(BACKUP, foreign_reasoning="drop"),
    ]
    digests = {planned(one).digest for one in variants} | {planned().digest}
    assert len(digests) == len(variants) + 1
    priced = replace(BACKUP, price=Price(1, 1))
    assert planned(priced).digest == planned(BACKUP).digest
    assert planned(priced, config=limited).digest != planned(BACKUP, config=limited).digest
