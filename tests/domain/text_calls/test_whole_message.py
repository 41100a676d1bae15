from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("whole", "tokens_around_a_message_do_not_count")
def test_tokens_around_a_message_do_not_count(row: Row) -> None:
    row.holds()


@each("bare_json", "a_message_of_json_is_a_call_if_it_is_nothing_else")
def test_a_message_of_json_is_a_call_if_it_is_nothing_else(row: Row) -> None:
    row.holds()


@each("bare_json", "each_form_has_a_dialect_of_its_own")
def test_each_form_has_a_dialect_of_its_own(row: Row) -> None:
    row.holds()


@each("bare_json", "a_message_that_was_cut_may_have_gone_on")
def test_a_message_that_was_cut_may_have_gone_on(row: Row) -> None:
    row.holds()


@each("bare_code", "a_message_of_python_calls_is_read_if_all_tools_exist")
def test_a_message_of_python_calls_is_read_if_all_tools_exist(row: Row) -> None:
    row.holds()


@each("bare_text", "a_line_of_its_own_names_the_tool")
def test_a_line_of_its_own_names_the_tool(row: Row) -> None:
    row.holds()
