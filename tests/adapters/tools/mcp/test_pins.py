"""Pins: tools are held to the definitions that were accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples import complaint
from toolreel._internal import McpConfigError
from toolreel.tools.mcp import read_pins, write_pins


@pytest.mark.parametrize("text", ["", "[]", '{"a": 3}'])
def test_pins_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.pins.json"
    path.write_text(text)
    assert complaint(McpConfigError, lambda: read_pins(path)) == (
        f"{path}: expected an object of fingerprints by name; accept the tools again"
    )


def test_pins_in_a_place_that_is_none_are_an_error(tmp_path: Path) -> None:
    assert "cannot be read" in complaint(McpConfigError, lambda: read_pins(tmp_path))
    assert "cannot be written" in complaint(McpConfigError, lambda: write_pins(tmp_path, {}))
