"""What makes two requests the same to a cassette, and what of a URL may stand in it.

The same are: the method, the endpoint with its query, and the body, where JSON is compared as
canonical text (white space is no difference; the order of keys is). Scheme, host, port and the
path above the endpoint are no part of it, so that a session that was recorded from one base URL
replays under another.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from returns.pipeline import is_successful

from toolreel_core._jsontext.canonical import canonical, read

__all__ = ["RequestKey", "canonical_body", "endpoint", "is_secret_parameter", "request_key", "scrubbed_url"]

RequestKey: TypeAlias = tuple[str, tuple[bytes, ...]]
"""Method and endpoint, and the body as it is compared, in pieces: where it is parted is no difference."""

_CHAT: Final = "/chat/completions"
_VERSION: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=/|$)")
_NAMES: Final = (
    "key|apikey|token|secret|password|passwd|pwd|passphrase|signature|sig|hmac|sas|auth|authorization"
    "|credentials?|accesskeyid|jwt|session|sessionid|sid"
)
_SECRET_PARAMETER: Final = re.compile(
    rf"(?i:(?:.*[_.-])?(?:{_NAMES}))|.*[a-z](?:Key|Token|Secret|Password|Signature|Credential)(?:Id)?"
)


def scrubbed_url(url: str) -> str:
    """A URL without user, password and fragment, and with the values of secret parameters struck out.

    >>> scrubbed_url("https://me:pw@api.test/v1/models?api_key=1234&limit=5")
    'https://api.test/v1/models?api_key=REDACTED&limit=5'
    """
    parts = urlsplit(url)
    query = "&".join(map(_scrubbed_parameter, parts.query.split("&")))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


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
        value = read(body.decode())
    except UnicodeDecodeError:
        return body
    return canonical(value.unwrap()).encode() if is_successful(value) else body


def request_key(method: str, url: str, *body: bytes) -> RequestKey:
    """The key under which a request is looked up; its body is canonical, and may come in pieces."""
    return f"{method.upper()} {endpoint(url)}", body


def is_secret_parameter(name: str) -> bool:
    """Whether the parameter of this name in a query is a key, a signature or the like.

    >>> (
    ...     is_secret_parameter("X-Amz-Signature"),
    ...     is_secret_parameter("accessToken"),
    ...     is_secret_parameter("limit"),
    ... )
    (True, True, False)
    """
    return _SECRET_PARAMETER.fullmatch(unquote_plus(name)) is not None


def _scrubbed_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}=REDACTED" if equals and is_secret_parameter(name) else parameter
