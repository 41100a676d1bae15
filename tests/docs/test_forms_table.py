from __future__ import annotations

from tests.docs.forms_table import PAGE, page


def test_the_table_is_what_the_proxy_does() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with `python -m tests.docs.forms_table`"
