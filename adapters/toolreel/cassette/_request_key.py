"""The key by which a cassette finds a request.

Two requests are the same if method, endpoint with query, and body agree. JSON bodies are compared as
canonical text: white space does not matter, the order of keys does. Scheme, host, port and the path above the
endpoint do not matter, so that a session replays under another base URL.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from toolreel._secrets.urls import scrubbed_url
from toolreel_core._jsontext.canonical import canonical, read

RequestKey: TypeAlias = tuple[str, tuple[bytes, ...]]
"""Method and endpoint, and the canonical body in pieces; how it is split does not matter."""

_CHAT: Final = "/chat/completions"
_VERSION: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=/|$)")
"""A path segment with an API version, such as ``/v1`` or ``/v1beta2``."""


@lru_cache(maxsize=64)
def endpoint(url: str) -> str:
    """The part of a URL that is compared: the path from the endpoint on, and the query.

    The endpoint begins at the last ``/chat/completions``, else after the first segment with a version;
    else it is the whole path.

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
    """The body in the form that is compared: canonical text if it is JSON, else unchanged.

    >>> canonical_body(b'{ "a": [1, 2] }')
    b'{"a":[1,2]}'
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    return read(text).map(lambda value: canonical(value).encode()).value_or(body)


def request_key(method: str, url: str, *body: bytes) -> RequestKey:
    """The key of a request.

    :param body: canonical, in one or more pieces
    """
    return f"{method.upper()} {endpoint(url)}", body
