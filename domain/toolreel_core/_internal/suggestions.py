"""Error texts for unknown names, with a suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The complaint about a name that does not exist, with the nearest one that does.

    >>> unknown_name("setting", "max_turn", ["max_turns"])
    "there is no setting 'max_turn'; did you mean 'max_turns'?"
    """
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}"
    return f"there is no {what} {name!r}; {hint}"
