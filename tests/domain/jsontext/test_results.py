from __future__ import annotations

import pytest
from returns.result import Failure, Success

from toolreel_core._jsontext.results import either


@pytest.mark.parametrize("value", [3, 0, None, ""])
def test_a_pipeline_that_succeeded_comes_to_its_value(value: object) -> None:
    assert either(Success(value)) == value


@pytest.mark.parametrize("error", ["why", "", None])
def test_a_pipeline_that_failed_comes_to_its_failure(error: object) -> None:
    assert either(Failure(error)) == error
