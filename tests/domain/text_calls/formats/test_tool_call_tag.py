from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("tool_call_tag", "a_block_is_read_by_what_stands_in_it")
def test_a_block_is_read_by_what_stands_in_it(row: Row) -> None:
    row.holds()


@each("tool_call_tag", "a_block_that_was_cut_is_not_run")
def test_a_block_that_was_cut_is_not_run(row: Row) -> None:
    row.holds()


@each("arg_keys", "pairs_of_keys_and_values_are_read_even_where_a_tag_is_lost")
def test_pairs_of_keys_and_values_are_read_even_where_a_tag_is_lost(row: Row) -> None:
    row.holds()


@each("arg_keys", "what_was_cut_within_a_pair_is_not_run")
def test_what_was_cut_within_a_pair_is_not_run(row: Row) -> None:
    row.holds()


@each("arg_keys", "a_key_may_be_opened_with_a_second_tool_call")
def test_a_key_may_be_opened_with_a_second_tool_call(row: Row) -> None:
    row.holds()
