from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("bare_tags", "tools_and_parameters_may_be_tags")
def test_tools_and_parameters_may_be_tags(row: Row) -> None:
    row.holds()
