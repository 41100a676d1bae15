from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("json_blocks", "each_block_is_read_between_its_own_marks")
def test_each_block_is_read_between_its_own_marks(row: Row) -> None:
    row.holds()


@each("named", "a_tool_is_named_before_its_arguments")
def test_a_tool_is_named_before_its_arguments(row: Row) -> None:
    row.holds()


@each("named", "kimis_calls_are_not_deepseeks")
def test_kimis_calls_are_not_deepseeks(row: Row) -> None:
    row.holds()


@each("named", "arguments_that_were_cut_are_not_run")
def test_arguments_that_were_cut_are_not_run(row: Row) -> None:
    row.holds()
