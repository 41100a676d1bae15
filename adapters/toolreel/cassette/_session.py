"""A session of any HTTP client, recorded once and replayed ever after.

>>> import httpx
>>> def ask(base_url):  # doctest: +SKIP
...     with use_cassette("cassettes/question.yaml", mode="auto") as session:
...         with httpx.Client(transport=session.transport()) as client:
...             return client.post(f"{base_url}/chat/completions", json={...}).json()

==========  ===============================================================================================
``replay``  the default: from the file alone; what is not in it, or was not asked for, is drift
``record``  made anew; the old file is replaced when the session has succeeded, and stays whole otherwise
``auto``    ``replay`` where there is a file, else ``record``
``extend``  the file is replayed, and when all of it has been played the session goes on live; saved when
            it has succeeded, with what came to it
==========  ===============================================================================================

A session has succeeded when its block was left without an exception. Nothing is patched: sessions in
threads and tasks have nothing in common but the process, and any number of clients may share one.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from toolreel._errors import MissingExtra
from toolreel.cassette._extend import AsyncExtendTransport, ExtendTransport
from toolreel.cassette._transports import (
    AsyncRecordTransport,
    AsyncReplayTransport,
    Recording,
    RecordTransport,
    ReplayTransport,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

if TYPE_CHECKING:
    from toolreel.cassette._httpx2 import AsyncHttpx2Transport, Httpx2Transport

__all__ = ["MODES", "Mode", "Session", "Way", "use_cassette", "way_of"]

Mode: TypeAlias = Literal["replay", "record", "auto", "extend"]
"""What is done with a cassette; see this module."""

Way: TypeAlias = Literal["replay", "record", "extend"]
"""What is done with it once it is known whether it is there."""

MODES: Final[tuple[Mode, ...]] = ("replay", "record", "auto", "extend")


def way_of(mode: Mode, *, there: bool) -> Way:
    """What a mode comes to.

    >>> way_of("auto", there=True), way_of("auto", there=False)
    ('replay', 'record')

    :param there: whether something is recorded
    """
    if mode == "auto":
        return "replay" if there else "record"
    return mode


class Session:
    """One cassette in use; gives out transports for HTTP clients of any kind."""

    def __init__(self, recording: Recording, way: Way) -> None:
        self.recording: Final = recording
        self.way: Final = way

    @classmethod
    def of(cls, path: str | os.PathLike[str], mode: Mode = "replay") -> Session:
        """The session on a file; nothing is written before :meth:`save`.

        :raises CassetteError: when there is something to be replayed, and it cannot be read or trusted
        """
        way = way_of(mode, there=os.path.lexists(path))
        match way:
            case "replay":
                return cls(Recording.load(path), way)
            case "record":
                return cls(Recording.blank(path), way)
            case "extend":
                return cls(Recording.extended(path), way)
            case _:
                assert_never(way)

    def transport(self, inner: httpx.BaseTransport | None = None) -> httpx.BaseTransport:
        """A new transport for an ``httpx.Client``.

        :param inner: goes to the network, where that is wanted; httpx's own by default
        """
        match self.way:
            case "replay":
                return ReplayTransport(self.recording)
            case "record":
                return RecordTransport(self.recording, inner or httpx.HTTPTransport())
            case "extend":
                return ExtendTransport(self.recording, inner or httpx.HTTPTransport())
            case _:
                assert_never(self.way)

    def async_transport(self, inner: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncBaseTransport:
        """The same as :meth:`transport`, for an ``httpx.AsyncClient``."""
        match self.way:
            case "replay":
                return AsyncReplayTransport(self.recording)
            case "record":
                return AsyncRecordTransport(self.recording, inner or httpx.AsyncHTTPTransport())
            case "extend":
                return AsyncExtendTransport(self.recording, inner or httpx.AsyncHTTPTransport())
            case _:
                assert_never(self.way)

    def httpx2_transport(self, inner: httpx.BaseTransport | None = None) -> Httpx2Transport:
        """The same as :meth:`transport`, for an ``httpx2.Client``, such as the openai SDK takes."""
        from toolreel.cassette._httpx2 import Httpx2Transport

        return Httpx2Transport(self.transport(inner))

    def async_httpx2_transport(self, inner: httpx.AsyncBaseTransport | None = None) -> AsyncHttpx2Transport:
        """The same as :meth:`transport`, for an ``httpx2.AsyncClient``."""
        from toolreel.cassette._httpx2 import AsyncHttpx2Transport

        return AsyncHttpx2Transport(self.async_transport(inner))

    def finish(self) -> None:
        """Say that the session has succeeded; all that was on the tape must have been asked for.

        :raises toolreel.ReplayMismatch: as :meth:`Recording.finish` does
        """
        self.recording.finish()

    def save(self, known_secrets: Mapping[str, str] | None = None) -> bool:
        """Write the file, if something has come to it, and say whether.

        :raises SecretFound: when it would hold a secret; then the old file stays
        :raises CassetteError: when it cannot be written
        """
        if self.recording.grown:
            self.recording.save(known_secrets)
        return self.recording.grown


@contextmanager
def use_cassette(
    path: str | os.PathLike[str], mode: Mode = "replay", *, known_secrets: Mapping[str, str] | None = None
) -> Generator[Session]:
    """A session on a cassette: replayed, recorded, or both; see this module for the modes.

    :param known_secrets: values that must not be written, by name; those in this process's environment
        when none are given
    :raises CassetteError: when the file cannot be read, trusted or written
    :raises SecretFound: on leaving, when the file would hold a secret
    :raises toolreel.ReplayMismatch: on leaving, when the session was not the recorded one
    """
    session = Session.of(path, mode)
    yield session
    session.finish()
    session.save(known_secrets)
