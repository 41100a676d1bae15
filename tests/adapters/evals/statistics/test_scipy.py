from __future__ import annotations

import runpy
import sys

import pytest

from tests.samples import complaint
from toolreel._errors import MissingExtra
from toolreel.evals._statistics import scipy as borrowed
from toolreel.evals._statistics.scipy import flips_p, mcnemar_power


@pytest.mark.parametrize(("module", "package"), [("scipy", "scipy"), ("statsmodels.stats", "statsmodels")])
def test_without_the_extra_the_import_names_it(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert complaint(MissingExtra, lambda: runpy.run_path(borrowed.__file__)) == (
        f"{package} is not installed: it comes with the extra 'evals', pip install 'toolreel[evals]'"
    )


def test_signs_of_nothing_are_no_evidence() -> None:
    assert flips_p([]) == flips_p([0, 0]) == (1.0, 1.0)
    assert flips_p([3, -3]) == (1.0, 1.0)


def test_the_power_of_very_many_pairs_is_computed_where_they_can_be() -> None:
    assert mcnemar_power(50_000_000, 0.0496, 0.0504, 0.05) == pytest.approx(1.0)
    assert mcnemar_power(1, 0.1, 0.2, 0.05) == 0
