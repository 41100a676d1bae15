from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("tool_call_tag", "a_block_is_read_by_what_stands_in_it")
def test_a_block_is_read_by_what_stands_in_it(row: Row) -> None:
    row.holds()


@each("tool_call_tag", "a_block_that_was_cut_is_not_run")
def test_a_block_that_was_cut_is_not_run(row: Row) -> None:
    row.holds()
