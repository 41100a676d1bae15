from __future__ import annotations

from tests.domain.text_calls.asking import Row, each


@each("json_blocks", "each_block_is_read_between_its_own_marks")
def test_each_block_is_read_between_its_own_marks(row: Row) -> None:
    row.holds()
