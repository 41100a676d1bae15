"""Base URLs of the operations of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from toolreel._errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel_core._jsontext.canonical import Json, Tree

_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")


def checked_base(url: str) -> str:
    """Validate a base URL, and remove the slash at its end.

    >>> checked_base("http://127.0.0.1:8080/v2/")
    'http://127.0.0.1:8080/v2'

    :raises OpenApiError: if it is invalid, or contains a user or password
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), None
    if not usable:
        raise OpenApiError(
            f"base URL {url!r}: expected http:// or https:// and a host, such as http://127.0.0.1:8080"
        )
    if "@" in parts.netloc:
        raise OpenApiError("base URL: leave user and password out of it, give them as a credential instead")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def server_url(document: Document, levels: Sequence[Tree], variables: Mapping[str, str]) -> str:
    """The URL of the first server, with its variables filled in.

    :param levels: objects that may have ``servers``, the innermost first
    :param variables: values of variables, instead of their defaults
    :raises OpenApiError: if the URL is relative or invalid
    """
    servers = next((level["servers"] for level in levels if level.get("servers")), [{"url": "/"}])
    first: Json = servers[0] if isinstance(servers, Sequence) else servers
    server = document.opened(first, "servers[0]")
    template = str(server.get("url", "/"))

    def filled(found: re.Match[str]) -> str:
        return _value(document, server, found[1], variables)

    url = urljoin(document.url, _VARIABLE.sub(filled, template))
    if not urlsplit(url).netloc:
        raise OpenApiError(f"its server is {template!r}, which is relative; say where it is by a base URL")
    return checked_base(url)


def _value(document: Document, server: Tree, name: str, variables: Mapping[str, str]) -> str:
    known = document.opened(server.get("variables", {}), "servers[0].variables")
    said = document.opened(known.get(name, {}), f"servers[0].variables.{name}")
    value = variables.get(name, said.get("default"))
    if value is None:
        raise OpenApiError(f"its server has a variable {name!r} without a default; say what it is")
    choices = said.get("enum")
    if isinstance(choices, Sequence) and value not in [*choices]:
        raise OpenApiError(
            f"server variable {name!r}: expected one of {', '.join(map(str, choices))}, got {value!r}"
        )
    return str(value)
