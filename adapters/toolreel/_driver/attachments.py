"""Files as parts of messages: ``attach``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolreel_core._conversation import Audio, File, Image, Media, media_type_in, usual_media_type
from toolreel_core._errors import ConfigError

_BY_SUFFIX: Final[Mapping[str, str]] = {
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".flac": "audio/flac",
    ".gif": "image/gif",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml",
}
"""Not that of ``mimetypes``, which reads the tables of the system: a plan would differ by machine."""


def attach(path: str | os.PathLike[str], *, media_type: str = "") -> Media:
    """The content of a file, as a part of a message or of a tool's result.

    A picture becomes an :class:`Image`, sound an :class:`Audio`, anything else a :class:`File` with its name.

    :param media_type: such as ``text/csv``; by default that which the first bytes or the suffix say
    :raises ConfigError: if the file cannot be read, or nothing says what it is
    """
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"attach: {file} cannot be read: {error.strerror or error}") from None
    found = usual_media_type(media_type) or media_type_in(data) or _BY_SUFFIX.get(file.suffix.lower(), "")
    if not found:
        raise ConfigError(
            f"attach: nothing says what {file.name} is; write its type, for example "
            'attach(path, media_type="text/plain")'
        )
    match found.partition("/")[0]:
        case "image":
            return Image.from_bytes(data, found)
        case "audio":
            return Audio.from_bytes(data, found)
        case _:
            return File.from_bytes(data, found, name=file.name)
