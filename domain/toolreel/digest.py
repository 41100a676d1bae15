"""SHA-256 over text, and chains of it, so that a long value is never hashed twice."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["chain", "digest"]


def digest(text: str) -> str:
    """The SHA-256 of a text, as 64 hexadecimal digits.

    >>> digest("")[:12]
    'e3b0c44298fc'
    """
    return sha256(text.encode()).hexdigest()


def chain(before: str, *parts: str) -> str:
    """The digest of a sequence that grows: of the digest so far and the digests of what follows.

    >>> chain(chain("", "a"), "b") == chain("", "a", "b")
    True
    """
    for part in parts:
        before = digest(before + digest(part))
    return before
