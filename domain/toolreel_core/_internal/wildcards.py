"""Patterns in which ``*`` stands for any text."""

from __future__ import annotations


def fits(pattern: str, text: str) -> bool:
    """Whether the whole text matches the pattern.

    Each part is searched as early as possible. That is never wrong for ``*``, and needs no backtracking,
    which a regular expression with several ``.*`` would.

    >>> fits("files.*", "files.read"), fits("*read", "files.read"), fits("files", "files.read")
    (True, True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
