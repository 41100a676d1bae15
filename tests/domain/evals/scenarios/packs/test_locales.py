from __future__ import annotations

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.packs.locales import LOCALES
from toolreel_core.evals._scenarios.scripts import call, script


@pytest.mark.parametrize(("amount", "result"), [(1234.5, "pass"), (1.2345, "fail"), (123450, "fail")])
def test_the_amount_is_what_a_german_means(amount: float, result: str) -> None:
    paid = call("transfer", to="Jörg Weiß", amount=amount)
    assert rehearse(LOCALES[0], script(paid, "Danke.")).verdict.result == result


def test_a_name_stays_as_it_is_written() -> None:
    spelt = call("transfer", to="Joerg Weiss", amount=1234.5)
    assert rehearse(LOCALES[0], script(spelt, "Danke.")).verdict.result == "fail"
