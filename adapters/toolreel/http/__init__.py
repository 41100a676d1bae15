"""HTTP endpoints over httpx: ``HttpEndpoint`` and ``AsyncHttpEndpoint``."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.http._httpx_endpoint import (
        AsyncHttpEndpoint,
        HttpEndpoint,
        async_response_chunks,
        limit_piece_wait,
    )
    from toolreel.http._request import (
        AUTHORIZATION,
        CREDENTIALS,
        MAX_RESPONSE_BYTES,
        NO_HEADERS,
        Address,
        checked_chat_url,
        headers_from_environment,
        url_for_form,
    )
    from toolreel.http._response_reader import (
        ACCEPT_ENCODING,
        EXCHANGE_DEADLINE,
        STALL_TIMEOUT,
        BodyError,
        BoundedDecoder,
        ExchangeLimits,
        Stalled,
        TooLarge,
        UndecodableBody,
        failure_event,
    )
    from toolreel.http._transport_pool import (
        PlainTransport,
        handle_async_trace_event,
        pooled_transport,
    )
    from toolreel_core._protocol import response_event
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "AsyncHttpEndpoint",
    "HttpEndpoint",
    "failure_event",
    "response_event",
]
