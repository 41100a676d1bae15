"""The cases of the leaderboard's multi-turn part, read from the ``bfcl-eval`` package.

A case is a conversation: what the user says turn by turn, and which calls the model should make for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from benchmarks.bfcl.calls import WrittenCall, read_call

__all__ = ["CATEGORIES", "FOLDER", "Case", "Category", "Turn", "cases", "documents"]

Category: TypeAlias = Literal["base", "long_context", "miss_func", "miss_param"]
"""``base``: ordinary; ``long_context``: with much data in the backends; ``miss_func``: a tool is withheld at
first; ``miss_param``: the user leaves something out at first."""

CATEGORIES: tuple[Category, ...] = get_args(Category)

FOLDER = Path(__file__).parents[2] / ".bfcl"
"""Where ``make bfcl`` installs the package; it is no part of this project."""

_DOCUMENTS: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
_MORE_TOOLS = "There are more tools now. Please try again with them."
"""What the user says where the leaderboard has nothing but a tool that joins."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the user."""

    says: str
    calls: tuple[WrittenCall, ...]
    """What the model should do about it, in order; nothing where it should ask back."""
    joins: tuple[str, ...]
    """Tools that were withheld, and are there from this turn on."""


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation."""

    id: str
    category: Category
    turns: tuple[Turn, ...]
    backends: tuple[str, ...]
    """Classes whose methods are the tools."""
    setting: Mapping[str, Any]
    """What the backends begin with, by class."""
    excluded: tuple[str, ...]
    """Methods that are no tools in this case."""

    def withheld(self, at: int) -> tuple[str, ...]:
        """The tools that are not there in a turn: those that are excluded, and those that join later."""
        later = (name for turn in self.turns[at + 1 :] for name in turn.joins)
        return tuple(sorted({*self.excluded, *later}))


@cache
def cases(category: Category) -> tuple[Case, ...]:
    """All cases of a category, in the leaderboard's order."""
    right = {row["id"]: row["ground_truth"] for row in _rows(f"possible_answer/{_file(category)}")}
    return tuple(_case(row, right[row["id"]], category) for row in _rows(_file(category)))


@cache
def documents(backend: str) -> tuple[Mapping[str, Any], ...]:
    """What the leaderboard tells models about the methods of a backend."""
    return tuple(_rows(f"multi_turn_func_doc/{_DOCUMENTS[backend]}.json"))


def _file(category: Category) -> str:
    return f"BFCL_v4_multi_turn_{category}.json"


def _rows(name: str) -> Iterator[Any]:
    with (FOLDER / "bfcl_eval" / "data" / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _case(row: Mapping[str, Any], right: list[list[str]], category: Category) -> Case:
    joins = row.get("missed_function", {})
    turns = (
        Turn(
            "\n".join(message["content"] for message in said) or _MORE_TOOLS,
            tuple(map(read_call, calls)),
            tuple(joins.get(str(at), ())),
        )
        for at, (said, calls) in enumerate(zip(row["question"], right, strict=True))
    )
    return Case(
        id=row["id"],
        category=category,
        turns=tuple(turns),
        backends=tuple(row["involved_classes"]),
        setting=row["initial_config"],
        excluded=tuple(row.get("excluded_function", ())),
    )
