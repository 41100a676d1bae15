"""The request of an HTTP endpoint, without I/O: URL, headers and API key; defaults of the limits."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from toolreel._driver import ServerAddress
from toolreel._internal import EndpointConfigError
from toolreel._secrets import Secret, secrets_in_request, url_safe_to_log
from toolreel.http._response_reader import ACCEPT_ENCODING
from toolreel_core._protocol import ANTHROPIC_VERSION
from toolreel_core._settings import API_PREFIX, PATHS, WireForm, api_prefix_error_text, chat_url

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""Default maximum of a decoded response body, in bytes; a chat completion usually has a thousandth of it."""

_X_API_KEY = "x-api-key"
_BEARER = "Bearer "

_AUTHORITY = re.compile(r"\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?(?://)?([^/?#]*)")
"""The authority of a URL (user, password, host). The scheme is optional, so that a password in
``user:password@host`` is recognized and rejected without being quoted in an error."""

_LABEL = 63
"""Maximum length of a part of a host name (RFC 1035, 2.3.4); Python raises UnicodeError for a longer one."""

CREDENTIALS = "toolreel.credentials"
"""The extension of a request that names further headers whose values are secrets, for what records it."""

AUTHORIZATION = "Authorization"
"""The header in which most servers expect the API key, as a bearer token."""

NO_HEADERS: Mapping[str, str] = {}

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""RFC 9110, 5.1: a token."""
_OUR_HEADERS = frozenset({
    "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host",
    "transfer-encoding",
})  # fmt: skip
"""Headers that say how a message is framed, and where it goes: the endpoint sets them to what it does."""


@dataclass(frozen=True, slots=True)
class Address:
    """The URL and headers of an endpoint; ``repr`` hides what in them is secret, such as the API key."""

    url: str
    headers: Mapping[str, str]
    """Those of every request, with names in lower case."""
    credentials: frozenset[str] = frozenset()
    """Names of the headers whose values are secrets whatever they look like, in lower case."""
    key: str = ""
    """What the key was given by: the name of a variable, or ``api_key=``; empty without one."""

    @property
    def server(self) -> ServerAddress:
        url = self.url.partition("?")[0].removesuffix(PATHS["chat_completions"])
        return ServerAddress(url_safe_to_log(url), self.key)

    def __repr__(self) -> str:
        return f"Address(url={url_safe_to_log(self.url)!r})"

    @property
    def secrets(self) -> dict[str, str]:
        return secrets_in_request(self.url, self.headers, self.credentials)

    @classmethod
    def of(
        cls,
        base_url: str,
        api_key_env: str | None,
        environ: Mapping[str, str] | None = None,
        *,
        api_prefix: str = API_PREFIX,
        headers: Mapping[str, str] = NO_HEADERS,
        api_key_header: str = AUTHORIZATION,
        api_key: str | Secret | None = None,
    ) -> Address:
        """The address for a base URL and the key, or the name of the variable that holds it.

        :param environ: environment variables; by default those of this process
        :param headers: further headers; they override those of the endpoint, such as ``User-Agent``
        """
        further: dict[str, str] = {}
        for name, value in headers.items():
            lower = _checked_header_name(name)
            if lower in further:
                raise EndpointConfigError(f"the header {name} is given twice")
            further[lower] = _checked_header_value(value, f"the value of the header {name}")
        sent = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": ACCEPT_ENCODING,
            "user-agent": "toolreel",
            **further,
        }
        key_header = _checked_header_name(api_key_header)
        if (api_key is not None or api_key_env is not None) and key_header in further:
            raise EndpointConfigError(
                f"the header {api_key_header} is given twice: it carries the API key; leave out one of them"
            )
        if api_key is not None and api_key_env is not None:
            raise EndpointConfigError("api_key and api_key_env are both given; leave out one of them")
        bearer = _BEARER if key_header == AUTHORIZATION.lower() else ""
        if api_key is not None:
            sent[key_header] = bearer + _checked_header_value(Secret(api_key).reveal(), "api_key")
        elif api_key_env is not None:
            where = os.environ if environ is None else environ
            sent[key_header] = bearer + header_value_from_variable(api_key_env, where, "the API key")
        return cls(
            checked_chat_url(base_url, api_prefix),
            sent,
            frozenset({*further, key_header}),
            api_key_env or ("api_key=" if api_key else ""),
        )


def url_for_form(form: WireForm, url: str) -> str:
    base, question, query = url.partition("?")
    return f"{base.removesuffix(PATHS['chat_completions'])}{PATHS[form]}{question}{query}"


def address_for_form(form: WireForm, address: Address) -> Address:
    there = replace(address, url=url_for_form(form, address.url)) if form != "chat_completions" else address
    if form != "messages":
        return there
    headers = {"anthropic-version": ANTHROPIC_VERSION, **address.headers}
    bearer = headers.get("authorization", "")
    if bearer.startswith(_BEARER) and _X_API_KEY not in headers:
        del headers["authorization"]  # Anthropic takes a token of OAuth there, and refuses a key
        headers[_X_API_KEY] = bearer.removeprefix(_BEARER)
    return replace(there, headers=headers, credentials=address.credentials | {_X_API_KEY})


def checked_chat_url(base_url: str, api_prefix: str = API_PREFIX) -> str:
    """The URL of chat completions, if a request can be sent to it."""
    authority = _AUTHORITY.match(base_url)
    if authority and "@" in authority[1]:
        raise EndpointConfigError(
            "base URL: leave user and password out of it; name the variable of an API key instead"
        )
    url = base_url.strip()
    try:
        parts = urlsplit(url)
        # Python parses port 0, to which nothing can connect.
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        why = "" if usable else "expected http:// or https:// and a host, such as http://127.0.0.1:8080/v1"
        why = why or host_fault(parts.hostname or "")
        if not url.isprintable() or " " in url:
            why = "it contains a space or a non-printable character"
    except ValueError as error:
        why = str(error)
    if why:
        raise EndpointConfigError(f"base URL {url_safe_to_log(url)!r}: {why}")
    if fault := api_prefix_error_text(api_prefix):
        raise EndpointConfigError(f"API prefix {url_safe_to_log(api_prefix)!r}: {fault}")
    return chat_url(base_url, api_prefix)


def host_fault(host: str) -> str:
    """What is wrong with a host name that Python cannot look up; empty if nothing."""
    labels = host.removesuffix(".").split(".")
    if all(0 < len(label) <= _LABEL for label in labels):
        return ""
    return f"the host {host!r} has an empty part, or one of more than {_LABEL} characters"


def headers_from_environment(variables: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The values of headers, of which each is in an environment variable.

    :param variables: names of variables by names of headers
    """
    return {
        name: header_value_from_variable(variable, environ, f"the value of the header {name}")
        for name, variable in variables.items()
    }


def header_value_from_variable(variable: str, environ: Mapping[str, str], what: str) -> str:
    value = environ.get(variable, "").strip()
    if not value:
        raise EndpointConfigError(f"the environment variable {variable} is not set; put {what} into it")
    return _checked_header_value(value, f"the environment variable {variable}")


def _checked_header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise EndpointConfigError(f"{name!r} is not the name of a header")
    if name.lower() in _OUR_HEADERS:
        raise EndpointConfigError(f"the header {name} is set by the endpoint itself; leave it out")
    return name.lower()


def _checked_header_value(value: str, what: str) -> str:
    """The value without blanks around it, if a header can carry it; never quoted, since it may be a key."""
    sent = value.strip()
    if not (sent and sent.isascii() and sent.isprintable()):
        raise EndpointConfigError(f"{what} is empty, or contains a character that no header can carry")
    return sent
