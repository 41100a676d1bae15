from __future__ import annotations

import pytest

import toolreel_core


def test_the_public_names_are_loaded_when_they_are_used() -> None:
    assert "step" in dir(toolreel_core)
    assert all(getattr(toolreel_core, name) is not None for name in dir(toolreel_core))


@pytest.mark.parametrize("name", ["no_such_name", "_no_such_module"])
def test_another_name_is_an_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(toolreel_core, name)
