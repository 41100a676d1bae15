from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("messages", "a_header_says_whom_a_message_is_for")
def test_a_header_says_whom_a_message_is_for(row: Row) -> None:
    row.holds()


@each("messages", "a_recipient_may_stand_alone")
def test_a_recipient_may_stand_alone(row: Row) -> None:
    row.holds()


@each("messages", "blocks_have_types")
def test_blocks_have_types(row: Row) -> None:
    row.holds()


@each("messages", "what_was_cut_is_not_run")
def test_what_was_cut_is_not_run(row: Row) -> None:
    row.holds()
