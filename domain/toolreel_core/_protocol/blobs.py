"""Blobs in records: their bytes stand once, by their digest, however many messages have them.

Stored, a blob is ``{"type": "blob", "media_type", "base64"}``. A record that holds more than one value
writes ``digest`` instead of ``base64``, and the Base64 of each digest once in a place of its own.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from toolreel_core._conversation import Blob, blobs_of, parts_of
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan
from toolreel_core._protocol.events import Event, ToolReturned, UserSpoke

MENTION: Final = '"type":"blob"'
"""What canonical text has where it has a blob: nowhere else, since quotes in texts are escaped."""


def blobs_in(value: Plan | Event) -> tuple[Blob, ...]:
    """The blobs of a plan's messages or of an event, in order."""
    if isinstance(value, Plan):
        return tuple([blob for message in value.messages for blob in blobs_of(parts_of(message))])
    return blobs_of(value.parts) if isinstance(value, UserSpoke | ToolReturned) else ()


def by_digest(tree: Json, blobs: Iterable[Blob] = ()) -> tuple[Json, dict[str, str]]:
    """The stored form with digests, and the Base64 of each.

    :param blobs: those whose digests are known, so that they are not computed again
    """
    known, found = {blob.base64: blob.digest for blob in blobs}, dict[str, str]()

    def without(value: Json) -> Json:
        match value:
            case {"type": "blob", "media_type": media_type, "base64": str() as base64}:
                digest = known.get(base64)
                if digest is None:
                    digest = known[base64] = digest_of(base64)
                found[digest] = base64
                return {"type": "blob", "media_type": media_type, "digest": digest}
            case Mapping():
                return {key: without(item) for key, item in value.items()}
            case [*items]:
                return [without(item) for item in items]
            case _:
                return value

    return without(tree), found


def with_blobs(tree: Json, blobs: Mapping[str, str], place: str) -> Json:
    """The stored form with the Base64 of each digest.

    :param blobs: Base64 by digest, which has been checked
    :raises CodecError: if one is missing
    """
    match tree:
        case {"type": "blob", "media_type": media_type, "digest": digest}:
            if not isinstance(digest, str) or digest not in blobs:
                raise CodecError(f"{place}: the bytes of the blob {digest!r} are missing; record it again")
            return {"type": "blob", "media_type": media_type, "base64": blobs[digest]}
        case Mapping():
            return {key: with_blobs(item, blobs, place) for key, item in tree.items()}
        case [*items]:
            return [with_blobs(item, blobs, place) for item in items]
        case _:
            return tree


def check_blob(digest: str, base64: object, place: str) -> str:
    """The Base64 of a blob that a record holds.

    :raises CodecError: if it is none, or another one's
    """
    try:
        fits = isinstance(base64, str) and digest_of(base64) == digest
    except ValueError:
        fits = False
    if not fits:
        raise CodecError(
            f"{place}: the bytes do not fit the digest {digest}; they were damaged, record again"
        )
    return str(base64)


def digest_of(base64: str) -> str:
    """The digest of a blob.

    :raises ValueError: if it is no Base64
    """
    return f"sha256:{sha256(b64decode(base64, validate=True)).hexdigest()}"
