"""Read a request of a client, within the limits of the proxy."""

from __future__ import annotations

from toolreel.proxy._client.answer import Gone, Receive, TooLong, body_of
from toolreel.proxy._client.errors import Trouble, refused
from toolreel_core._client_requests import ClientRequest, Refusal, client_request
from toolreel_core._settings import WireForm


async def request_in(receive: Receive, form: WireForm, most: int) -> ClientRequest | Trouble | None:
    """The request of a client, or what is wrong with it; ``None`` if the client has left.

    :param most: bytes that it may have
    """
    try:
        body = await body_of(receive, most)
    except Gone:
        return None
    except TooLong:
        return refused(413, f"The request is larger than {most} bytes.", "request_too_large")
    request = client_request(body, form)
    if isinstance(request, Refusal):
        return refused(400, request.message, "invalid_request", request.param)
    return request
