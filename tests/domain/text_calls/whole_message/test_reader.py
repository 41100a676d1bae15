from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("whole", "tokens_around_a_message_do_not_count")
def test_tokens_around_a_message_do_not_count(row: Row) -> None:
    row.holds()
