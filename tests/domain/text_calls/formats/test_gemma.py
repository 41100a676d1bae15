from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("gemma", "values_may_stand_without_quotes")
def test_values_may_stand_without_quotes(row: Row) -> None:
    row.holds()


@each("gemma", "a_call_that_was_cut_is_not_run")
def test_a_call_that_was_cut_is_not_run(row: Row) -> None:
    row.holds()
