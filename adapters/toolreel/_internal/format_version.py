"""The version that each stored format begins with."""

from __future__ import annotations

from toolreel._internal.errors import AdapterError


def check_version(found: object, expected: int, what: str, remedy: str, error: type[AdapterError]) -> None:
    """Reject what has another version than the one that is read and written.

    :param what: its place and kind, such as ``chat.journal.jsonl, line 1: a journal``
    :param remedy: what to do, such as ``record it again``
    """
    if type(found) is not int or found != expected:  # not ==, for which True is 1
        raise error(f"{what} of version {found!r}; this toolreel reads version {expected}: {remedy}")
