"""``use_cassette``: record the session of an HTTP client once, and replay it without a network."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from toolreel._internal import MissingExtra
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._transports import AsyncCassetteTransport, CassetteTransport
from toolreel.cassette._vary import Vary
from toolreel_core._config_checks import check_choice

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("record", "httpx") from error

if TYPE_CHECKING:
    from toolreel.cassette._httpx2 import AsyncHttpx2Transport, Httpx2Transport

Mode: TypeAlias = Literal["replay", "record", "auto", "extend"]
"""How a cassette is used: ``replay``, ``record``, ``auto`` or ``extend``; see :func:`use_cassette`."""

MODES: Final[tuple[Mode, ...]] = ("replay", "record", "auto", "extend")


class Session(Recording):
    """One cassette in use, from :func:`use_cassette`; makes transports for HTTP clients.

    Give each client a transport of its own: ``httpx.Client(transport=session.transport())``.
    """

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        mode: Mode = "replay",
        *,
        vary: Sequence[Vary] = (),
        shared: Sequence[Vary] = (),
    ) -> Session:
        """Open a session on a file without a ``with`` block; nothing is written before :meth:`save`.

        :param vary: what may differ in requests; :meth:`finish` fails if a rule fits none
        :param shared: more such rules, which need not fit a request of this session
        :raises CassetteError: if the file is to be replayed, and is missing, unreadable or invalid
        :raises ConfigError: if there is no such mode
        """
        check_choice("mode", mode, MODES)
        if mode == "auto":
            mode = "replay" if os.path.lexists(path) else "record"
        opened = {"replay": cls.load, "record": cls.blank, "extend": cls.extended}
        return opened[mode](path, vary, shared)

    def transport(self, inner: httpx.BaseTransport | None = None) -> httpx.BaseTransport:
        """A new transport for an ``httpx.Client``.

        :param inner: the transport to the network, unused in a replay. By default, requests go out as
            those of a plain ``httpx.Client`` do, through the proxy that the environment names
        """
        return CassetteTransport(self, inner)

    def async_transport(self, inner: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncBaseTransport:
        """The same as :meth:`transport`, for an ``httpx.AsyncClient``."""
        return AsyncCassetteTransport(self, inner)

    def httpx2_transport(self, inner: httpx.BaseTransport | None = None) -> Httpx2Transport:
        """The same as :meth:`transport`, for an ``httpx2.Client``, which for example the openai SDK uses."""
        from toolreel.cassette._httpx2 import Httpx2Transport

        return Httpx2Transport(self.transport(inner))

    def async_httpx2_transport(self, inner: httpx.AsyncBaseTransport | None = None) -> AsyncHttpx2Transport:
        """The same as :meth:`transport`, for an ``httpx2.AsyncClient``."""
        from toolreel.cassette._httpx2 import AsyncHttpx2Transport

        return AsyncHttpx2Transport(self.async_transport(inner))


@contextmanager
def use_cassette(
    path: str | os.PathLike[str],
    mode: Mode = "replay",
    *,
    vary: Sequence[Vary] = (),
    known_secrets: Mapping[str, str] | None = None,
) -> Generator[Session]:
    """Record or replay the HTTP traffic of a ``with`` block.

    ``with use_cassette("question.yaml", "auto") as session:`` gives a :class:`Session`; pass
    ``session.transport()`` to your HTTP client. If the block raises, nothing is written.

    :param path: the cassette, a YAML file; its folder is made if it is missing
    :param mode: ``replay`` (the default) answers from the file alone; ``record`` records over the network and
        replaces the file; ``auto`` replays if the file exists, else records; ``extend`` replays the file,
        then records what follows
    :param vary: what may differ between recorded and new requests, besides the rules in the file
    :param known_secrets: secret values by name, which must not be written; by default, those in the
        environment variables of this process
    :raises CassetteError: if the file is missing, unreadable, invalid or not writable
    :raises toolreel.ConfigError: if there is no such mode
    :raises VaryError: at the end of the block, if a rule fits no request
    :raises SecretFound: at the end of the block, if the recording contains a secret; nothing is written
    :raises toolreel.ReplayMismatch: in the block, for a request that is not in the recording; at its end, if
        there was such a request or an interaction was not requested
    """
    session = Session.of(path, mode, vary=vary)
    yield session
    session.finish()
    session.save(known_secrets)
