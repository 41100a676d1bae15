"""What the user says to a run, and files as parts of it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from toolreel._driver.ports import Wanted
from toolreel_core._conversation import (
    Audio,
    File,
    Image,
    Media,
    Said,
    media_type_of_bytes,
    normalized_media_type,
    readable_parts_text,
    unsupported_part_error,
)
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import UserSpoke, user_spoke_event
from toolreel_core._settings import Provider


class Incoming(Protocol):
    """Where a driver takes what the user says while a run is underway."""

    def messages_before(self, effect: Wanted | None, /) -> Sequence[UserSpoke]:
        """What was said before the answer to this effect; ``None`` asks after the end of an exchange."""
        ...


class Inbox:
    """Messages of the user to a run that is underway; any thread or task may :meth:`say` one.

    The run takes them between its effects. What comes after its end stays here: give the same inbox to
    ``speak`` or to the next ``run``.
    """

    def __init__(self) -> None:
        self._waiting = deque[UserSpoke]()

    def say(self, content: Said) -> None:
        """Leave a message for the run; of a part that its provider does not take, the model is told.

        :raises ConfigError: if the message is empty
        """
        self._waiting.append(user_message_event(content))

    @property
    def waiting(self) -> tuple[str, ...]:
        """The messages that no run has taken yet, in order."""
        return tuple(readable_parts_text(event.parts) or event.content for event in tuple(self._waiting))

    def messages_before(self, _effect: Wanted | None, /) -> Sequence[UserSpoke]:
        """Take all messages."""
        # popleft() is atomic, and this is the only place that takes: a lock would add nothing.
        return [self._waiting.popleft() for _ in range(len(self._waiting))]


def user_message_event(content: Said | UserSpoke, provider: Provider | None = None) -> UserSpoke:
    """:raises ConfigError: if the message is empty, or has a part that the provider is known not to take"""
    event = content if isinstance(content, UserSpoke) else user_spoke_event(content)
    if not event.parts and not event.content.strip():
        raise ConfigError("content: the message is empty; write what the user says")
    if provider is not None and (why := unsupported_part_error(event.parts, provider)):
        raise ConfigError(f"content: {why}")
    return event


# Files as parts of messages: ``attach``.


_BY_SUFFIX: Mapping[str, str] = {
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
    found = (
        normalized_media_type(media_type)
        or media_type_of_bytes(data)
        or _BY_SUFFIX.get(file.suffix.lower(), "")
    )
    if not found:
        raise ConfigError(
            f"attach: nothing says what {file.name} is; write its type, for example "
            'attach(path, media_type="text/plain")'
        )
    return media_from_bytes(data, found, file.name)


def media_from_bytes(data: bytes, media_type: str, name: str) -> Media:
    match media_type.partition("/")[0]:
        case "image":
            return Image.from_bytes(data, media_type)
        case "audio":
            return Audio.from_bytes(data, media_type)
        case _:
            return File.from_bytes(data, media_type, name=name)
