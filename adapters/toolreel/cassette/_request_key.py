"""What makes two requests the same to a cassette.

The same are: the method, the endpoint with its query, and the body, where JSON is compared as
canonical text (white space is no difference; the order of keys is). Scheme, host, port and the
path above the endpoint are no part of it, so that a session that was recorded from one base URL
replays under another.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from toolreel._secrets.urls import scrubbed_url
from toolreel_core._jsontext.canonical import canonical, read

__all__ = ["RequestKey", "canonical_body", "endpoint", "request_key"]

RequestKey: TypeAlias = tuple[str, tuple[bytes, ...]]
"""Method and endpoint, and the body as it is compared, in pieces: where it is parted is no difference."""

_CHAT: Final = "/chat/completions"
_VERSION: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=/|$)")


@lru_cache(maxsize=64)
def endpoint(url: str) -> str:
    """The part of a URL that is compared: the path from the endpoint on, and the query.

    The endpoint begins at the last ``/chat/completions``; where there is none, after the first
    segment that is a version; where there is none either, it is the whole path.

    >>> endpoint("https://openrouter.ai/api/v1/chat/completions")
    '/chat/completions'
    >>> endpoint("http://127.0.0.1:8000/v1/models?limit=5")
    '/models?limit=5'
    """
    parts = urlsplit(scrubbed_url(url))
    path = parts.path
    version = _VERSION.search(path)
    if _CHAT in path:
        path = path[path.rindex(_CHAT) :]
    elif version:
        path = path[version.end() :] or "/"
    return f"{path}?{parts.query}" if parts.query else path


def canonical_body(body: bytes) -> bytes:
    """The body as it is compared: canonical text where it is JSON, itself otherwise.

    >>> canonical_body(b'{ "a": [1, 2] }')
    b'{"a":[1,2]}'
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    return read(text).map(lambda value: canonical(value).encode()).value_or(body)


def request_key(method: str, url: str, *body: bytes) -> RequestKey:
    """The key under which a request is looked up; its body is canonical, and may come in pieces."""
    return f"{method.upper()} {endpoint(url)}", body
