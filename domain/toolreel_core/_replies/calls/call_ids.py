"""Ids of tool calls: the provider's, or generated ones where those are unusable.

A generated id depends only on the turn and the position, so that a replay generates the same (a uuid would
not). A legal, unique id is never changed: Kimi needs its ``functions.name:0`` back (vllm#29596), Mistral its
nine alphanumeric characters (eca#233).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from toolreel_core._jsontext import Json
from toolreel_core._replies.warning_codes import WarningCode


def identified(given: Iterable[Json], *, turn: int) -> list[tuple[str, tuple[WarningCode, ...]]]:
    """An id for each call, with the warnings about the id that it came with.

    >>> identified(["call_a", None, "call_a"], turn=3)
    [('call_a', ()), ('call_3_1', ('CALL_ID_MISSING',)), ('call_3_2', ('CALL_ID_DUPLICATE',))]
    """
    # All native ids are reserved first: a generated one must not collide with that of a later call.
    natives = list(map(native_id, given))
    taken = {identity for identity, _ in natives if identity}
    used: set[str] = set()
    found: list[tuple[str, tuple[WarningCode, ...]]] = []
    for place, (identity, codes) in enumerate(natives):
        if identity in used:
            codes = (*codes, "CALL_ID_DUPLICATE")  # noqa: PLW2901 - it replaces what was found wrong so far
        if not identity or identity in used:
            identity = _fresh(turn, place, taken)  # noqa: PLW2901 - the id that the call goes by
            taken.add(identity)
        used.add(identity)
        found.append((identity, codes))
    return found


def native_id(given: Json) -> tuple[str, tuple[WarningCode, ...]]:
    """The provider's id as text, empty if unusable, with the warnings about it.

    >>> native_id(7), native_id(None)
    (('7', ('CALL_ID_NOT_STRING',)), ('', ('CALL_ID_MISSING',)))
    """
    if isinstance(given, str) and given.strip():
        return given, ()
    if given is None or isinstance(given, str):
        return "", ("CALL_ID_MISSING",)
    usable = isinstance(given, int) and not isinstance(given, bool)
    return str(given) if usable else "", ("CALL_ID_NOT_STRING",)


def _fresh(turn: int, place: int, taken: set[str]) -> str:
    candidates = (f"call_{turn}_{number}" for number in count(place))
    return next(candidate for candidate in candidates if candidate not in taken)
