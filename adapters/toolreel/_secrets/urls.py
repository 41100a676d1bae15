"""URLs without their secrets."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from toolreel_core._lazy_pattern import lazy_pattern

_NAMES: Final = (
    "key|apikey|token|secret|password|passwd|pwd|passphrase|signature|sig|hmac|sas|auth|authorization"
    "|credentials?|accesskeyid|jwt|session|sessionid|sid"
)
# A name counts as a whole word only: `api_key` and `X-Amz-Signature`, but not `monkey` or `token_limit`.
# The second half is camel case (`accessToken`, `apiKeyId`), where the capital letter marks the word.
_SECRET_PARAMETER: Final = lazy_pattern(
    rf"(?i:(?:.*[_.-])?(?:{_NAMES}))|.*[a-z](?:Key|Token|Secret|Password|Signature|Credential)(?:Id)?"
)


def scrubbed_url(url: str) -> str:
    """The URL without user, password and fragment, and with the values of secret parameters masked.

    >>> scrubbed_url("https://me:pw@api.test/v1/models?api_key=1234&limit=5")
    'https://api.test/v1/models?api_key=REDACTED&limit=5'
    """
    parts = urlsplit(url)
    # By hand instead of parse_qsl and urlencode, which would re-encode the parameters that are kept.
    query = "&".join(map(_scrubbed_parameter, parts.query.split("&")))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


_USER: Final = lazy_pattern(r"^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)[^/?#]*@")
_PARAMETER: Final = lazy_pattern(r"(?<=[?&;#])([^=&;#]+)=([^&;#]+)")


def shown_url(url: str) -> str:
    """A URL as an error, a ``repr`` or a log may quote it, even if it is none.

    >>> shown_url("http://me:pw@[a/v1?api-key=1234&api-version=1")
    'http://[a/v1?api-key=REDACTED&api-version=1'
    """

    def masked(found: re.Match[str]) -> str:
        return f"{found[1]}=REDACTED" if is_secret_parameter(found[1]) else found[0]

    return _PARAMETER.sub(masked, _USER.sub(r"\1", url))


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter of this name holds a key, a signature or another secret.

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
