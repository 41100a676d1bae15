"""The table of variables has all that are read, and no others."""

from __future__ import annotations

import pytest

from tests.docs.variables_table import OTHERS, PAGE, written
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals import VARIABLES, environment


def test_the_page_has_the_table_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "python -m tests.docs.variables_table"


@pytest.mark.parametrize("name", [*OTHERS, *(name for name in VARIABLES if name.startswith("OPENROUTER_"))])
def test_each_is_read_so_that_a_mistyped_one_is_an_error(name: str) -> None:
    mistyped = name + name[-1]
    if not name.startswith("OPENROUTER_API_KEY"):
        assert name in complaint(ConfigError, lambda: environment({mistyped: "1"}))
