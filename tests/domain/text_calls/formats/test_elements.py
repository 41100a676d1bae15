from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("elements", "parameters_stand_in_elements")
def test_parameters_stand_in_elements(row: Row) -> None:
    row.holds()


@each("elements", "what_was_cut_within_an_element_is_not_run")
def test_what_was_cut_within_an_element_is_not_run(row: Row) -> None:
    row.holds()


@each("functions", "a_function_is_read_in_every_spelling")
def test_a_function_is_read_in_every_spelling(row: Row) -> None:
    row.holds()


@each("functions", "an_invocation_is_read_with_any_namespace")
def test_an_invocation_is_read_with_any_namespace(row: Row) -> None:
    row.holds()


@each("functions", "grok_misspells_its_closing_tags")
def test_grok_misspells_its_closing_tags(row: Row) -> None:
    row.holds()
