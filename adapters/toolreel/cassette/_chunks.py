"""What a cassette holds of a response, in the pieces in which a client gets it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from toolreel._errors import CassetteError
from toolreel.cassette._tape import StoredResponse
from toolreel.http._decompression import PACKAGES

__all__ = ["is_stream", "pieces_of", "refuse_unreadable"]

_EVENT_END: Final = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


def is_stream(stored: StoredResponse) -> bool:
    """Whether a response is a stream of events."""
    kinds = [value for name, value in stored.headers if name == "content-type"]
    return bool(kinds) and kinds[0].lower().startswith("text/event-stream")


def pieces_of(stored: StoredResponse) -> Iterator[bytes]:
    """A stream event by event, as it was recorded; everything else whole."""
    if is_stream(stored):
        return (piece for piece in _EVENT_END.split(stored.body) if piece)
    return iter((stored.body,))


def refuse_unreadable(stored: StoredResponse, cassette: Path) -> None:
    """Fail where the body is in an encoding that cannot be decoded here.

    :raises CassetteError: names the package that does
    """
    encodings = [value for name, value in stored.headers if name == "content-encoding"]
    for encoding in ",".join(encodings).lower().split(","):
        packages = PACKAGES.get(encoding.strip(), ())
        if packages and not any(find_spec(package) for package in packages):
            raise CassetteError(
                f"{cassette}: a response was recorded in the encoding {encoding.strip()!r}, which httpx "
                f"decodes only with the package {packages[0]}: pip install {packages[0]}"
            )
