"""SHA-256 over text, and chains of it, so that a long value is never hashed twice."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

__all__ = ["chain", "digest", "known_chain", "known_digest", "link", "linked"]


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


def link(before: str, part: str) -> str:
    """A chain with one more part, whose digest is known.

    >>> link("", digest("a")) == chain("", "a")
    True
    """
    return sha256((before + part).encode()).hexdigest()


def linked(before: bytes, data: bytes) -> bytes:
    """A chain with one more part, which is encoded already; both chains as the bytes of their digests.

    >>> linked(b"", b"a").hex() == chain("", "a")
    True
    """
    return sha256((before.hex() + sha256(data).hexdigest()).encode()).digest()


known_digest = lru_cache(maxsize=1024)(digest)
"""The digest of a short text that comes again and again, such as the name of a tool."""

known_chain = lru_cache(maxsize=1024)(chain)
"""The chain of such texts."""
