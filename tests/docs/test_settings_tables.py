"""The pages list all keys of a plan and all variables, as the code has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.settings_tables import PAGES_WITH_SETTINGS, written
from toolreel_core.evals import OTHER_VARIABLES, SETTINGS


@pytest.mark.parametrize("page", PAGES_WITH_SETTINGS, ids=lambda page: page.name)
def test_a_page_has_the_tables_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == written(text), "python -m tests.docs.settings_tables"


def test_every_key_and_every_variable_is_on_its_page() -> None:
    keys, variables = (page.read_text(encoding="utf-8") for page in PAGES_WITH_SETTINGS)
    for each in SETTINGS:
        assert f"| `{each.place}` |" in keys
    for name in (*OTHER_VARIABLES, *(each.variable for each in SETTINGS if each.variable)):
        assert f"| `{name}` |" in variables
