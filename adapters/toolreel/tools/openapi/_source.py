"""One OpenAPI document as a source of tools: selected operations, and how to call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from toolreel._internal.errors import OpenApiError
from toolreel._secrets.urls import shown_url
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._document.operations import (
    METHODS,
    OperationEntry,
    listed_operations,
    operation_of,
)
from toolreel.tools.openapi._request.request import RequestBuilder
from toolreel.tools.openapi._request.security import Credentials
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._internal.wildcards import fits
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._jsontext.digest import digest
from toolreel_core._tools.names import outward_name, prefixed_name
from toolreel_core._tools.tool_definition import ToolDefinition

OPENAPI_PREFIX: Final = "openapi"
"""Prefix of the inner names of all OpenAPI tools."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9]+")
"""Characters that are replaced in the name of a tool."""
_MAX_NAME: Final = 200
_MAX_DESCRIPTION: Final = 1_024
"""Maximum length of a description that every provider accepts."""


@dataclass(frozen=True, slots=True)
class OpenApiTool:
    """An operation that the model can call."""

    definition: ToolDefinition
    builder: RequestBuilder


@dataclass(frozen=True, slots=True)
class SkippedOperation:
    """A selected operation that cannot be called, and why."""

    name: str
    """The inner name that it would have."""
    why: str


@dataclass(frozen=True, slots=True)
class DocumentTools:
    """The callable operations of a document, and those left out."""

    tools: Mapping[str, OpenApiTool]
    """By inner name, in the document's order."""
    left_out: tuple[SkippedOperation, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenApiSource:
    """A document, and the selection of its operations.

    Without ``tags``, ``operation_ids`` and ``paths``, all operations that are not deprecated are selected;
    otherwise those that match one of the three.

    :raises OpenApiError: if the document lacks something that you name
    """

    name: str
    """Name of the service, such as ``pets``; its tools are named ``openapi_pets_…``."""
    document: Document
    tags: tuple[str, ...] = ()
    operation_ids: tuple[str, ...] = ()
    """Operation ids; these select deprecated operations too."""
    paths: tuple[str, ...] = ()
    """Path patterns such as ``/pets/*``; ``*`` matches any text."""
    methods: tuple[str, ...] = METHODS
    """HTTP methods to select."""
    deprecated: bool = False
    """Whether to select deprecated operations too."""
    base_url: str | None = field(default=None, repr=False)
    """Server for all requests, instead of those of the document."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values for variables in the server URL."""
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    """Sent to the server of ``base_url`` alone, or else to the one that the document was fetched from."""
    credential_origins: tuple[str, ...] = ()
    """Further servers that may get the credentials, such as ``https://api.example``: a document can name any
    server, so it does not decide where they go."""
    read_only: tuple[str, ...] = ("GET", "HEAD", "OPTIONS")
    """Methods that change nothing, so that calls may run concurrently: the safe methods of HTTP by default,
    although a server can violate this."""
    needs_approval: tuple[str, ...] = ("POST", "PUT", "PATCH", "DELETE")
    """Methods whose calls need approval."""
    deadline_ms: int | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise OpenApiError("an OpenAPI source needs a name that is not empty")
        for setting in ("methods", "read_only", "needs_approval"):
            for method in getattr(self, setting):
                if method not in METHODS:
                    raise OpenApiError(f"{setting}: {unknown_name('method', method, METHODS)}")
        if self.base_url is not None:
            object.__setattr__(self, "base_url", checked_base(self.base_url))
        for origin in self.credential_origins:
            checked_base(origin)
        self.credentials.check(self.document)
        listed = list(listed_operations(self.document))
        _check_known("tag", self.tags, [tag for each in listed for tag in each.tags])
        _check_known(
            "operation", self.operation_ids, [each.operation_id for each in listed if each.operation_id]
        )

    def offer(self) -> DocumentTools:
        """The selected operations that can be called.

        :raises OpenApiError: if none can be called, or one named in ``operation_ids`` cannot; says why
        """
        tools: dict[str, OpenApiTool] = {}
        left_out: list[SkippedOperation] = []
        used_names: set[str] = set()
        for listed in listed_operations(self.document):
            if not self._is_selected(listed):
                continue
            name = self._name(listed)
            if outward_name(name) in used_names:
                name = f"{name}_{digest(listed.label)[:8]}"
            used_names.add(outward_name(name))
            try:
                tools[name] = self._offered(name, listed)
            except (OpenApiError, ConfigError) as error:
                why = str(error).removeprefix(f"tool {name!r}: ")
                if listed.operation_id in self.operation_ids:
                    raise OpenApiError(
                        f"operation {listed.operation_id!r} cannot be offered: {why}"
                    ) from None
                left_out.append(SkippedOperation(name, why))
        if not tools:
            reasons = "; ".join(dict.fromkeys(each.why for each in left_out))
            rest = (
                f"; none of {len(left_out)} can be called: {reasons}"
                if left_out
                else "; no operation matches the selection"
            )
            raise OpenApiError(f"{self.name}: there is no operation to offer{rest}")
        return DocumentTools(tools, tuple(left_out))

    def _check_origin(self, base: str) -> None:
        """Check that the user has named a server as one for the credentials.

        :raises OpenApiError: if the document alone names it
        """
        named = [self.base_url, self.document.url, *self.credential_origins]
        if _origin(base) not in map(_origin, filter(None, named)):
            scheme, host, port = _origin(base)
            raise OpenApiError(
                f"it would send a credential to {scheme}://{host}:{port}, which the document alone names; "
                "allow that server (credential_origins, --openapi-auth-origin), "
                "or say where calls go by a base URL"
            )

    def _is_selected(self, listed: OperationEntry) -> bool:
        if listed.method not in self.methods:
            return False
        if listed.operation_id in self.operation_ids:
            return True
        if listed.deprecated and not self.deprecated:
            return False
        if not (self.tags or self.operation_ids or self.paths):
            return True
        by_path = any(fits(pattern, listed.path) for pattern in self.paths)
        return by_path or any(tag in self.tags for tag in listed.tags)

    def _name(self, listed: OperationEntry) -> str:
        plain = f"{listed.method.lower()}_{_UNFIT.sub('_', listed.path).strip('_')}".rstrip("_")
        name = prefixed_name(OPENAPI_PREFIX, self.name, listed.operation_id or plain)
        return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}_{digest(name)[:8]}"

    def _offered(self, name: str, listed: OperationEntry) -> OpenApiTool:
        operation = operation_of(self.document, listed)
        security = listed.tree.get("security", self.document.tree.get("security"))
        access = self.credentials.access(self.document, security)
        levels = (listed.tree, listed.item, self.document.tree)
        base = self.base_url or server_url(self.document, levels, self.variables)
        if access.fields:
            self._check_origin(base)
        builder = RequestBuilder(self.document, operation, base, access)
        definition = ToolDefinition.of(
            name,
            _truncated(operation.description or listed.label),
            builder.schema,
            read_only=listed.method in self.read_only,
            needs_approval=listed.method in self.needs_approval,
            deadline_ms=self.deadline_ms,
        )
        return OpenApiTool(definition, builder)


def _origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url.strip())
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _truncated(text: str) -> str:
    return text if len(text) <= _MAX_DESCRIPTION else f"{text[: _MAX_DESCRIPTION - 1]}…"


def _check_known(what: str, names: tuple[str, ...], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise OpenApiError(unknown_name(what, name, dict.fromkeys(known)))


_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
"""A variable in the URL of a server."""


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
            f"base URL {shown_url(url)!r}: expected http:// or https:// and a host, such as http://127.0.0.1:8080"
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
