"""HTTP endpoints over httpx: ``HttpEndpoint`` and ``AsyncHttpEndpoint``."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.http._bounded_decoder import (
        ACCEPT_ENCODING,
        PACKAGES,
        BodyError,
        BoundedDecoder,
        Stalled,
        TooLarge,
        UndecodableBody,
    )
    from toolreel.http._connection_limits import async_trace
    from toolreel.http._httpx_endpoint import (
        TIMEOUT,
        AsyncHttpEndpoint,
        HttpEndpoint,
        async_chunks_of,
        hang_up,
        within,
    )
    from toolreel.http._request import (
        ANTHROPIC_VERSION,
        AUTHORIZATION,
        CREDENTIALS,
        DEADLINE,
        MAX_RESPONSE_BYTES,
        NO_HEADERS,
        STALL_TIMEOUT,
        Address,
        checked_chat_url,
        header_values,
        request_headers,
        url_in,
    )
    from toolreel.http._response_events import answered, broken, failure_event, response_event, retry_after_ms
    from toolreel.http._response_reader import Exchange, Incoming, Intake
    from toolreel.http._transport_pool import (
        CONNECTIONS,
        AsyncPlainTransport,
        PlainTransport,
        async_transport,
        sync_transport,
    )
else:
    from toolreel._internal.lazy import face

    __getattr__, __dir__ = face(
        __name__,
        {
            "_bounded_decoder": (
                "ACCEPT_ENCODING BodyError BoundedDecoder PACKAGES Stalled TooLarge UndecodableBody"
            ),
            "_connection_limits": "async_trace",
            "_httpx_endpoint": ("AsyncHttpEndpoint HttpEndpoint TIMEOUT async_chunks_of hang_up within"),
            "_request": (
                "ANTHROPIC_VERSION AUTHORIZATION CREDENTIALS Address DEADLINE MAX_RESPONSE_BYTES NO_HEADERS "
                "STALL_TIMEOUT checked_chat_url header_values request_headers url_in"
            ),
            "_response_events": "answered broken failure_event response_event retry_after_ms",
            "_response_reader": "Exchange Incoming Intake",
            "_transport_pool": (
                "AsyncPlainTransport CONNECTIONS PlainTransport async_transport sync_transport"
            ),
        },
    )

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "AsyncHttpEndpoint",
    "HttpEndpoint",
]
