from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("bare_code", "a_message_of_python_calls_is_read_if_all_tools_exist")
def test_a_message_of_python_calls_is_read_if_all_tools_exist(row: Row) -> None:
    row.holds()
