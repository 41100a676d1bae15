"""The recorded session of the demo, and the drivers that can replay it here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from toolreel._internal import CassetteError
from toolreel._replay import DRIVERS, Driver

_NAME: Final = "local--qwen2.5-coder-1.5b.yaml"
_HERE: Final = Path(__file__).parent


def demo_cassette() -> Path:
    """The cassette of the demo: package data of the wheel, or under ``cassettes/`` in a checkout.

    :raises CassetteError: if it is missing
    """
    places = (_HERE / "session" / _NAME, _HERE.parents[2] / "cassettes" / "workspace" / _NAME)
    for place in places:
        if place.exists():
            return place
    raise CassetteError("the demo's session is missing from this installation; install toolreel again")


def demo_drivers() -> list[Driver]:
    """The drivers whose packages are installed."""
    return [driver for driver in DRIVERS if find_spec(driver) or driver == "sync"]
