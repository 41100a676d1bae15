"""Headers of a client, and of an upstream: who a client is, and what goes on to the other side."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence

from starlette.datastructures import Headers

from toolreel._internal import ProxyConfigError
from toolreel_core._protocol import ANTHROPIC_VERSION
from toolreel_core._settings import WireForm

TOKEN = "x-toolreel-token"  # noqa: S105 - the name of a header
"""Header with the proxy's own token, for clients whose key goes on to the upstream."""
KEYS = ("authorization", "x-api-key", "api-key")
"""Headers in which clients send keys."""
_BEARER = "bearer "
_STAY = frozenset({
    # Of this connection (RFC 9110, 7.6.1), and those that the next connection sets itself.
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade", "expect", "host", "content-length", "accept-encoding",
    # Of a browser, and none of an upstream's business.
    "cookie", "origin", "referer", "forwarded", TOKEN,
})  # fmt: skip
_STAY_TOO = ("sec-", "x-forwarded-", "x-toolreel-")
_STAY_THERE = frozenset({
    # Of the upstream's connection, and of its bytes, which are not those that go out here.
    "accept-ranges", "connection", "content-digest", "content-encoding", "content-length", "content-md5",
    "content-range", "content-type", "digest", "keep-alive", "proxy-authenticate", "proxy-connection",
    "repr-digest", "te", "trailer", "transfer-encoding", "upgrade",
    # Of the server that answers, which is the proxy.
    "date", "server",
    # About the upstream's own origin, which browsers would apply to the proxy's.
    "alt-svc", "clear-site-data", "content-security-policy", "nel", "report-to", "strict-transport-security",
})  # fmt: skip
"""Headers of an upstream that would be wrong in an answer of the proxy; all others go back to the client."""
_STAY_THERE_TOO = ("access-control-", "x-toolreel-")


def headers_for_client(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of an upstream for the client: all but those about its own connection or origin.

    :param headers: names in lower case
    """
    stay = _STAY_THERE | _names_in_connection_header(headers)
    return [
        (name, value) for name, value in headers if name not in stay and not name.startswith(_STAY_THERE_TOO)
    ]


def _names_in_connection_header(headers: Sequence[tuple[str, str]]) -> set[str]:
    listed = (value.split(",") for name, value in headers if name == "connection")
    return {each.strip().lower() for names in listed for each in names}


def api_key_in_headers(headers: Headers) -> str:
    return next((value for name in KEYS if (value := headers.get(name))), "")


def has_proxy_token(headers: Headers, token: str) -> bool:
    # As bytes: compare_digest() raises TypeError on texts that are not ASCII.
    given = (headers.get(TOKEN, ""), *(_without_bearer(headers.get(name, "")) for name in KEYS))
    return any(hmac.compare_digest(each.encode(), token.encode()) for each in given)


def headers_for_upstream(
    headers: Headers, *, token: str, api_key_env: str, form: WireForm = "chat_completions"
) -> dict[str, str]:
    """The headers for the upstream: the client's, with the proxy's own key where it has one.

    The proxy's token never goes on, wherever the client put it. A key stands where the upstream looks for it.

    :param form: of the upstream

    :raises ProxyConfigError: if the variable of the key is not set
    """
    stay = _STAY | _names_in_connection_header(headers.items())
    kept = dict[str, str]()
    for name, value in headers.items():
        if name not in stay and not name.startswith(_STAY_TOO):  # a list may have several lines
            kept[name] = f"{kept[name]}, {value}" if name in kept and name not in KEYS else value
    if token:
        kept = {
            name: value for name, value in kept.items() if name not in KEYS or _without_bearer(value) != token
        }
    if api_key_env:
        key = os.environ.get(api_key_env, "").strip()
        if not key:
            raise ProxyConfigError(f"the environment variable {api_key_env} is not set")
        kept = {name: value for name, value in kept.items() if name not in KEYS}
        kept["authorization"] = f"Bearer {key}"
    kept["content-type"] = "application/json"
    of_anthropic = "anthropic-version" in kept
    if form == "messages":
        kept.setdefault("anthropic-version", ANTHROPIC_VERSION)
        bearer = kept.get("authorization", "").lower().startswith(_BEARER) and "x-api-key" not in kept
        # Anthropic takes a token of OAuth there, which a key of the proxy's own never is, and refuses a key.
        if bearer and (api_key_env or not of_anthropic):
            kept["x-api-key"] = _without_bearer(kept.pop("authorization"))
    elif of_anthropic:
        kept = {name: value for name, value in kept.items() if not name.startswith("anthropic-")}
        if key := kept.pop("x-api-key", ""):
            kept.setdefault("authorization", f"Bearer {key}")
    return kept


def is_foreign_request(headers: Headers, hosts: tuple[str, ...]) -> bool:
    """Whether a request is addressed to another name, or comes from a page of another site.

    A page in a browser can send requests to this machine, also under a name of its own that leads here.
    """
    if not hosts:
        return False
    named, origin = headers.getlist("host"), headers.get("origin")
    places = [*named, *([origin.partition("://")[2]] if origin else ())]
    return len(named) != 1 or any(_host_without_port(place) not in hosts for place in places)


def _host_without_port(authority: str) -> str:
    if authority.startswith("["):
        return authority.partition("]")[0].removeprefix("[").lower()
    return authority.partition(":")[0].lower()


def _without_bearer(value: str) -> str:
    return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else value.strip()
