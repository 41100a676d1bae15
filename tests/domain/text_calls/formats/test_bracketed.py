from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("bracketed", "a_call_stands_in_brackets")
def test_a_call_stands_in_brackets(row: Row) -> None:
    row.holds()
