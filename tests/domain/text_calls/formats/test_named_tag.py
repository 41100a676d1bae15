from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("named_tag", "an_attribute_names_the_tool")
def test_an_attribute_names_the_tool(row: Row) -> None:
    row.holds()
