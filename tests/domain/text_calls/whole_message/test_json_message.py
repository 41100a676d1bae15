from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("bare_json", "a_message_of_json_is_a_call_if_it_is_nothing_else")
def test_a_message_of_json_is_a_call_if_it_is_nothing_else(row: Row) -> None:
    row.holds()


@each("bare_json", "each_form_has_a_dialect_of_its_own")
def test_each_form_has_a_dialect_of_its_own(row: Row) -> None:
    row.holds()


@each("bare_json", "a_message_that_was_cut_may_have_gone_on")
def test_a_message_that_was_cut_may_have_gone_on(row: Row) -> None:
    row.holds()
