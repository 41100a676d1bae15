from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("xtml", "tags_are_tokens_and_attributes_are_escaped")
def test_tags_are_tokens_and_attributes_are_escaped(row: Row) -> None:
    row.holds()


@each("xtml", "what_was_cut_is_not_run")
def test_what_was_cut_is_not_run(row: Row) -> None:
    row.holds()


@each("minimax_m3", "parameters_are_elements_that_nest")
def test_parameters_are_elements_that_nest(row: Row) -> None:
    row.holds()
