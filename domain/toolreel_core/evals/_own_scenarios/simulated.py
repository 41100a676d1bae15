"""The ``[user]`` table of a scenario file: a user that a model plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel_core._internal.config_checks import Table
from toolreel_core.evals._other_models.simulated_user import SimulatedUser

_TURNS: Final = 4
_MOST: Final = 50
_NEEDED: Final = {
    "says": 'write how the user begins: says = "…"; it is the same in every run of a trial',
    "model": 'write the model that plays the user: model = "…"',
    "instructions": 'write who the user is, and what they want and know: instructions = "…"',
}


def simulated_user(table: Table) -> tuple[str, SimulatedUser] | None:
    """How the user begins, and who goes on; ``None`` if the user's texts are given.

    :raises PlaceError: at the first error
    """
    script = table.table("script")
    if not isinstance(table.values.get("user"), Mapping):
        if "user" in script.values:
            raise script.complaint('it is for a [user] with a model; else write user = ["…", "…"]', "user")
        return None
    user = table.table("user").only("model", "instructions", "turns", "says")
    for key, what in _NEEDED.items():
        if not user.text(key).strip():
            raise user.complaint(what, key)
    turns = user.whole("turns", 1, _TURNS)
    if turns > _MOST:
        raise user.complaint(f"expected at most {_MOST}, got {turns}", "turns")
    return user.text("says"), SimulatedUser(
        user.text("model"), user.text("instructions"), turns, _lines(script)
    )


def _lines(script: Table) -> tuple[str, ...]:
    lines = script.values.get("user", [])
    if not isinstance(lines, list | tuple) or not all(isinstance(one, str) and one.strip() for one in lines):
        what = 'expected what the user says to scripted models, after each answer: ["…", "…"]'
        raise script.complaint(what, "user")
    return tuple(lines)
