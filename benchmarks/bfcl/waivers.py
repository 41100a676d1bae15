"""Cases that cannot come out as in the twin world, since the leaderboard contradicts itself in them.

The twin world does what the case says; our loop refuses the call, as it should, and with just this fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.bfcl.cases import CATEGORIES

__all__ = ["WAIVERS", "Waiver"]


@dataclass(frozen=True, slots=True)
class Waiver:
    """Why a case is waived."""

    fault: str
    """The code of the fault with which the call is refused."""
    why: str


WAIVERS: Mapping[str, Waiver] = {
    **{
        f"multi_turn_{category}_173": Waiver(
            "ARGUMENTS_SCHEMA_ERROR", "a ticket's id is a text in the call and an integer in the schema"
        )
        for category in CATEGORIES
    },
    "multi_turn_miss_func_49": Waiver("TOOL_NOT_FOUND", "calls a tool that is still withheld"),
}
"""By case."""
