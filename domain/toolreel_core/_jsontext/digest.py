"""SHA-256 digests of texts, and hash chains that extend without hashing a long prefix again."""

from __future__ import annotations

from hashlib import sha256


def digest(text: str) -> str:
    """The SHA-256 of a text, as 64 hexadecimal digits.

    >>> digest("")[:12]
    'e3b0c44298fc'
    """
    return sha256(text.encode()).hexdigest()


def chain(before: str, *parts: str) -> str:
    """The digest of a growing sequence, from the digest so far and the new parts.

    >>> chain(chain("", "a"), "b") == chain("", "a", "b")
    True
    """
    for part in parts:
        before = digest(before + digest(part))
    return before


def link(before: str, part: str) -> str:
    """Extend a chain by one part, given the digest of the part.

    >>> link("", digest("a")) == chain("", "a")
    True
    """
    return sha256((before + part).encode()).hexdigest()


def linked(before: bytes, data: bytes) -> bytes:
    """Extend a chain by one encoded part; both chains are raw digests.

    >>> linked(b"", b"a").hex() == chain("", "a")
    True
    """
    return sha256((before.hex() + sha256(data).hexdigest()).encode()).digest()
