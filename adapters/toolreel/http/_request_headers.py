"""The headers of every request: the endpoint's own, the API key, and those that a caller adds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolreel._internal.errors import EndpointConfigError
from toolreel._secrets.secret import Secret
from toolreel.http._bounded_decoder import ACCEPT_ENCODING

AUTHORIZATION: Final = "Authorization"
"""The header in which most servers expect the API key, as a bearer token."""

NO_HEADERS: Final[Mapping[str, str]] = {}

_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""RFC 9110, 5.1: a token."""
_OURS: Final = frozenset({
    "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host",
    "transfer-encoding",
})  # fmt: skip
"""Headers that say how a message is framed, and where it goes: the endpoint sets them to what it does."""


def request_headers(
    api_key_env: str | None,
    environ: Mapping[str, str],
    headers: Mapping[str, str] = NO_HEADERS,
    api_key_header: str = AUTHORIZATION,
    api_key: Secret | None = None,
) -> dict[str, str]:
    """The headers of every request, with names in lower case.

    :param api_key: the key itself, instead of the name of its variable
    :param headers: further headers; they override those of the endpoint, such as ``User-Agent``
    :raises EndpointConfigError: if the variable is not set, or a header cannot be sent
    """
    sent = {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": ACCEPT_ENCODING,
        "user-agent": "toolreel",
        **_further(headers),
    }
    key_header = _checked_name(api_key_header)
    if api_key_env is None and api_key is None:
        return sent
    if key_header in {name.lower() for name in headers}:
        raise EndpointConfigError(
            f"the header {api_key_header} is given twice: it carries the API key; leave out one of them"
        )
    if api_key_env is not None and api_key is not None:
        raise EndpointConfigError("api_key and api_key_env are both given; leave out one of them")
    key = value_of(api_key_env, environ, "the API key") if api_key_env is not None else _given(api_key)
    return {**sent, key_header: f"Bearer {key}" if key_header == AUTHORIZATION.lower() else key}


def header_values(variables: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The values of headers, of which each is in an environment variable.

    >>> header_values({"X-Tenant": "TENANT"}, {"TENANT": "lab"})
    {'X-Tenant': 'lab'}

    :param variables: names of variables by names of headers
    :raises EndpointConfigError: if one is not set
    """
    return {
        name: value_of(variable, environ, f"the value of the header {name}")
        for name, variable in variables.items()
    }


def value_of(variable: str, environ: Mapping[str, str], what: str) -> str:
    """What a variable holds, if a header can carry it.

    :param what: what belongs into it, for errors
    :raises EndpointConfigError: if it is not set, or no header can carry its value
    """
    value = environ.get(variable, "").strip()
    if not value:
        raise EndpointConfigError(f"the environment variable {variable} is not set; put {what} into it")
    if not _can_be_sent(value):
        raise EndpointConfigError(
            f"the environment variable {variable} contains a line break or another character that an "
            f"HTTP header cannot carry; put {what} into it, and nothing else"
        )
    return value


def _given(api_key: Secret | None) -> str:
    value = api_key.reveal().strip() if api_key is not None else ""
    if not value:
        raise EndpointConfigError("api_key: expected a key, got an empty text; leave it out to send none")
    if not _can_be_sent(value):
        raise EndpointConfigError(
            "api_key: it contains a line break or another character that an HTTP header cannot carry"
        )
    return value


def _further(headers: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers.items():
        lower = _checked_name(name)
        if lower in found:
            raise EndpointConfigError(f"the header {name} is given twice")
        if not _can_be_sent(value):
            raise EndpointConfigError(
                f"the value of the header {name} is empty, or contains a character that no header can carry"
            )
        found[lower] = value.strip()
    return found


def _checked_name(name: str) -> str:
    """The name in lower case, if a header may have it."""
    if not _NAME.fullmatch(name):
        raise EndpointConfigError(f"{name!r} is no name of a header")
    if name.lower() in _OURS:
        raise EndpointConfigError(f"the header {name} is set by the endpoint itself; leave it out")
    return name.lower()


def _can_be_sent(value: str) -> bool:
    return bool(value.strip()) and value.isascii() and value.isprintable()
