from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("elements", "parameters_stand_in_elements")
def test_parameters_stand_in_elements(row: Row) -> None:
    row.holds()


@each("elements", "what_was_cut_within_an_element_is_not_run")
def test_what_was_cut_within_an_element_is_not_run(row: Row) -> None:
    row.holds()
