"""An endpoint that answers from a cassette.

For replaying runs, and for your own drivers. For an async driver, wrap it in
:class:`~toolreel._driver.performer.ImmediateEndpoint`, since it never blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolreel._driver import Listener
from toolreel.cassette import CassetteTransport, Recording
from toolreel.http import HttpEndpoint

if TYPE_CHECKING:
    import httpx


class TapedEndpoint(HttpEndpoint):
    """An endpoint that answers from a recording.

    :param transport: answers instead of the recording's own
    :param on_delta: callback for each piece of a reply
    """

    replays: Final = True
    """Its answers cost no time and no tokens, which matters when a run is measured."""

    def __init__(
        self,
        recording: Recording,
        *,
        transport: httpx.BaseTransport | None = None,
        on_delta: Listener | None = None,
    ) -> None:
        super().__init__(
            "http://replay.invalid/v1",
            transport=transport or CassetteTransport(recording),
            on_delta=on_delta,
            now=float,  # is 0.0: a clock that stands still
        )
