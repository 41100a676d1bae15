from __future__ import annotations

from collections.abc import Mapping

import pytest

from toolreel_core._internal.suggestions import unknown_name


@pytest.mark.parametrize("known", [["alpha", "beta"], ("alpha", "beta"), {"alpha": 1, "beta": 2}])
def test_a_name_that_does_not_exist_is_told_with_the_nearest_that_does(
    known: list[str] | tuple[str, ...] | Mapping[str, object],
) -> None:
    assert unknown_name("letter", "alpa", known) == "there is no letter 'alpa'; did you mean 'alpha'?"
    assert unknown_name("letter", "q", known) == "there is no letter 'q'; there are: alpha, beta"
