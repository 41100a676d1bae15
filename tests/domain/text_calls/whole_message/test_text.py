from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("bare_text", "a_line_of_its_own_names_the_tool")
def test_a_line_of_its_own_names_the_tool(row: Row) -> None:
    row.holds()
