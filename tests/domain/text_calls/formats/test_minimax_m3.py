from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("minimax_m3", "parameters_are_elements_that_nest")
def test_parameters_are_elements_that_nest(row: Row) -> None:
    row.holds()
