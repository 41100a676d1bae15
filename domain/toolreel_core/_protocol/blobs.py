"""Blobs in records: their bytes stand once, by their digest, however many messages have them.

Stored, a blob is ``{"type": "blob", "media_type", "base64"}``. A record that holds more than one value
writes ``digest`` instead of ``base64``, and the Base64 of each digest once in a place of its own.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
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
        fits = f"sha256:{sha256(b64decode(str(base64), validate=True)).hexdigest()}" == digest
    except ValueError:
        fits = False
    if not fits:
        raise CodecError(
            f"{place}: the bytes do not fit the digest {digest}; they were damaged, record again"
        )
    return str(base64)
