"""The media type of bytes, from their first ones: what providers take, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_FIRST_BYTES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
"""What the letters after the size of a RIFF file say."""
_MPEG_SYNC: Final = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")
"""The first bytes of MP3 audio without tags."""
_SAME: Final[Mapping[str, str]] = {
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/x-flac": "audio/flac",
    "image/jpg": "image/jpeg",
}
"""Other names of media types."""


def media_type_in(data: bytes) -> str:
    """The media type that the first bytes say; empty if they say none.

    >>> media_type_in(b"%PDF-1.7"), media_type_in(b"hello")
    ('application/pdf', '')
    """
    for first, media_type in _FIRST_BYTES:
        if data.startswith(first):
            return media_type
    if data.startswith(b"RIFF"):
        return _RIFF.get(data[8:12], "")
    return "audio/mpeg" if data.startswith(_MPEG_SYNC) else ""


def usual_media_type(name: str) -> str:
    """A media type under its usual name, without parameters.

    >>> usual_media_type("Audio/X-WAV; rate=8000")
    'audio/wav'
    """
    plain = name.partition(";")[0].strip().lower()
    return _SAME.get(plain, plain)
