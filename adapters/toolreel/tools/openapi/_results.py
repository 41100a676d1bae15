"""Responses of a server as results for the model.

Models get only text: other content is replaced by its type and size. An error status becomes a failure with
the start of the server's message. Credentials that a server echoes are redacted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel._internal.errors import MissingExtra
from toolreel._secrets.urls import scrubbed_url
from toolreel.http._bounded_decoder import BodyError, TooLarge
from toolreel.http._response_events import failure_event
from toolreel.tools._result_events import failed_event, returned_event, timed_out
from toolreel.tools.openapi._request.security import Credentials
from toolreel_core._jsontext.canonical import either, finite, read_tolerant
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

try:
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None

_MAX_ERROR_TEXT: Final = 2_000
"""Maximum length of a server's error message for the model."""
_TEXTUAL: Final = (
    "text/",
    "application/xml",
    "application/yaml",
    "application/javascript",
    "application/x-www",
)
_REDACTED: Final = "[credential]"


def response_event(
    effect: RunTool, response: httpx.Response, body: bytes, credentials: Credentials
) -> ToolReturned:
    """The event for a complete response."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = _text(response, media_type, body)
    for spelling in credentials.spellings if text else ():
        text = text.replace(spelling, _REDACTED) if text else text
    if response.is_success:
        return _succeeded(effect, response, media_type, text, body)
    detail = "" if text is None else text.strip()
    detail = detail if len(detail) <= _MAX_ERROR_TEXT else f"{detail[:_MAX_ERROR_TEXT]}…"
    return failed_event(
        effect,
        "TOOL_ERROR",
        f"{_status(response)}{': ' * bool(detail)}{detail}. {_advice(response)}",
        {"status": response.status_code},
    )


def exchange_failed_event(
    effect: RunTool, error: httpx.HTTPError | BodyError, deadline: float | None
) -> ToolReturned:
    """The event for a failed exchange: a lost connection, a timeout, or a body that cannot be used."""
    ran = f"{effect.name} ran, but {error}."
    if isinstance(error, TooLarge):
        return failed_event(effect, "TOOL_OUTPUT_TOO_LARGE", f"{ran} Ask {effect.name} for less.")
    if isinstance(error, BodyError):
        return failed_event(effect, "TOOL_OUTPUT_NOT_JSON", f"{ran} Go on without it.")
    if isinstance(error, httpx.TimeoutException) and deadline is not None:
        return timed_out(effect, deadline)
    failure = failure_event(effect.ref, error)
    match failure.failure:
        case "connect":
            rest, code = "Nothing was done. Use another tool, or answer in text.", "TOOL_UNAVAILABLE"
        case "timeout":
            rest, code = "It may still have effects. Check before you call it again.", "TOOL_TIMEOUT"
        case _:
            rest, code = "It may have had effects. Check before you call it again.", "TOOL_UNAVAILABLE"
    return failed_event(effect, code, f"{effect.name}: {failure.message}. {rest}")


def too_many_redirects_event(effect: RunTool) -> ToolReturned:
    """The event for too many redirects."""
    why = "the server redirects without end. Go on without it."
    return failed_event(effect, "TOOL_ERROR", f"{effect.name}: {why}")


def _succeeded(
    effect: RunTool, response: httpx.Response, media_type: str, text: str | None, body: bytes
) -> ToolReturned:
    status = response.status_code
    if not body:
        place = response.headers.get("location")
        location = {"location": scrubbed_url(place)} if place else {}
        return returned_event(effect, {"status": status, **location})
    if text is None:
        kind = media_type or "unknown type"
        unseen = f"file of {len(body)} bytes ({kind}) left out: only text is passed on"
        return returned_event(effect, {"status": status, "content_type": kind, "bytes": len(body)}, unseen)
    if not _is_json(media_type):
        return returned_event(effect, {"value": text})
    note = "the server says that this is JSON, but:"
    return either(
        read_tolerant(text)
        .map(finite)
        .map(lambda value: returned_event(effect, value if isinstance(value, Mapping) else {"value": value}))
        .alt(lambda why: returned_event(effect, {"value": text}, f"{note} {why}"))
    )


def _text(response: httpx.Response, media_type: str, body: bytes) -> str | None:
    """The body as text; ``None`` if it is binary. Without a content type, valid UTF-8 counts as text."""
    if _is_json(media_type) or media_type.startswith(_TEXTUAL) or media_type.endswith("+xml"):
        try:
            return body.decode(response.charset_encoding or "utf-8", "replace")
        except LookupError:
            return body.decode("utf-8", "replace")
    if not media_type and b"\0" not in body:
        try:
            return body.decode()
        except UnicodeDecodeError:
            return None
    return None


def _is_json(media_type: str) -> bool:
    return media_type.endswith(("/json", "+json"))


def _status(response: httpx.Response) -> str:
    reason = f" {response.reason_phrase}" if response.reason_phrase else ""
    return f"HTTP {response.status_code}{reason}"


def _advice(response: httpx.Response) -> str:
    """Advice for the model about an error status."""
    status = response.status_code
    wait = response.headers.get("retry-after", "").strip()
    if 300 <= status < 400:
        place = scrubbed_url(response.headers.get("location", ""))
        where = f"It points to {place}, " if place else "It points elsewhere, "
        return f"{where}where calls are not sent. Go on without it."
    if status == 429 or (status == 503 and wait):
        return f"Call it again later{f', after {wait} s' * wait.isdecimal()}, or go on without it."
    if status in {401, 403, 407}:
        return "It is not allowed here. Do not call it again: use another tool, or answer in text."
    if status < 500:
        return "Correct the arguments, or go on without it."
    return "The server failed. It may have had effects: check before you call it again."
