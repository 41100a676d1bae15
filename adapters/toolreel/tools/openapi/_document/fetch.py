"""Fetch an OpenAPI document from a URL."""

from __future__ import annotations

from typing import Final

from toolreel._errors import MissingExtra, OpenApiError
from toolreel._secrets.known_values import scrubbed_url
from toolreel.http._bounded_body import ACCEPT_ENCODING, BodyError, BoundedDecoder
from toolreel.tools.openapi._document.document import MAX_DOCUMENT_BYTES, Document, parsed_document

try:
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None

_TIMEOUT: Final = 30.0
_ACCEPT: Final = "application/json, application/yaml, text/*;q=0.9, */*;q=0.5"


def fetched_document(url: str, *, transport: httpx.BaseTransport | None = None) -> Document:
    """Fetch a document; its relative servers are resolved against the URL.

    Redirects are not followed.

    :raises OpenApiError: if it cannot be fetched or read; names the URL and the place
    """
    headers = {"accept": _ACCEPT, "accept-encoding": ACCEPT_ENCODING}
    where = scrubbed_url(url)
    try:
        with (
            httpx.Client(transport=transport, timeout=_TIMEOUT) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if not response.is_success:
                raise OpenApiError(f"{where}: cannot be fetched: HTTP {response.status_code}")
            decoder = BoundedDecoder(response.headers.get("content-encoding", ""), MAX_DOCUMENT_BYTES)
            for chunk in response.iter_raw():
                decoder.feed(chunk)
        return parsed_document(decoder.finish(), url=url)
    except (httpx.HTTPError, httpx.InvalidURL, BodyError) as error:
        raise OpenApiError(f"{where}: cannot be fetched: {type(error).__name__}: {error}") from None
    except OpenApiError as error:
        raise OpenApiError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from None
