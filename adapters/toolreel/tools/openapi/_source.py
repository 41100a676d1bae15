"""One OpenAPI document as a source of tools: which of its operations, and how they are run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolreel._errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel.tools.openapi._document.operations import (
    METHODS,
    OperationEntry,
    listed_operations,
    operation_of,
)
from toolreel.tools.openapi._document.servers import checked_base, server_url
from toolreel.tools.openapi._request.request import RequestBuilder
from toolreel.tools.openapi._request.security import Credentials
from toolreel_core._errors import ConfigError
from toolreel_core._internal.globs import fits
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core._jsontext.digest import digest
from toolreel_core._tools.names import outward_name, prefixed_name
from toolreel_core._tools.surface import ToolDefinition

__all__ = ["OPENAPI_PREFIX", "DocumentTools", "OpenApiSource", "OpenApiTool", "SkippedOperation"]

OPENAPI_PREFIX: Final = "openapi"
"""What the names of all tools of OpenAPI documents begin with."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME: Final = 200
_MAX_DESCRIPTION: Final = 1_024
"""Characters of a description that every provider takes."""


@dataclass(frozen=True, slots=True)
class OpenApiTool:
    """An operation that the model can call."""

    definition: ToolDefinition
    sender: RequestBuilder


@dataclass(frozen=True, slots=True)
class SkippedOperation:
    """An operation that was meant, and cannot be called."""

    name: str
    """The inner name that it would have."""
    why: str


@dataclass(frozen=True, slots=True)
class DocumentTools:
    """What comes of a document once it has been looked at."""

    tools: Mapping[str, OpenApiTool]
    """By inner name, in the document's order."""
    left_out: tuple[SkippedOperation, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenApiSource:
    """A document, and what is wanted of it.

    With neither ``tags`` nor ``operation_ids`` nor ``paths``, every operation is meant that is not
    deprecated; else those that one of the three names.

    :raises OpenApiError: if something is named that the document does not have
    """

    name: str
    """Of the service, such as ``pets``; its tools are called ``openapi_pets_…``."""
    document: Document
    tags: tuple[str, ...] = ()
    operation_ids: tuple[str, ...] = ()
    """Named so, a deprecated operation is meant as well."""
    paths: tuple[str, ...] = ()
    """Such as ``/pets/*``; ``*`` stands for any text."""
    methods: tuple[str, ...] = METHODS
    """Only operations of these methods are meant."""
    deprecated: bool = False
    """Whether deprecated operations are meant as well."""
    base_url: str | None = None
    """Where all requests go, rather than to the servers of the document."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What to put in for variables of the server."""
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    read_only: tuple[str, ...] = ("GET", "HEAD", "OPTIONS")
    """Methods whose operations change nothing, so that calls may run at the same time: those that HTTP calls
    safe, which a server need not heed."""
    needs_approval: tuple[str, ...] = ("POST", "PUT", "PATCH", "DELETE")
    """Methods before whose operations somebody is asked."""
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
        self.credentials.check(self.document)
        listed = list(listed_operations(self.document))
        _check_known("tag", self.tags, [tag for each in listed for tag in each.tags])
        _check_known(
            "operation", self.operation_ids, [each.operation_id for each in listed if each.operation_id]
        )

    def offer(self) -> DocumentTools:
        """The operations that are meant, as far as they can be called.

        :raises OpenApiError: if none can, or one that was asked for by its id; says why
        """
        tools: dict[str, OpenApiTool] = {}
        left_out: list[SkippedOperation] = []
        taken: set[str] = set()
        for listed in listed_operations(self.document):
            if not self._meant(listed):
                continue
            name = _distinct(self._name(listed), listed, taken)
            taken.add(outward_name(name))
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
            said = "; ".join(dict.fromkeys(each.why for each in left_out))
            rest = (
                f"; none of {len(left_out)} can be called: {said}"
                if left_out
                else "; nothing that is meant is there"
            )
            raise OpenApiError(f"{self.name}: there is no operation to offer{rest}")
        return DocumentTools(tools, tuple(left_out))

    def _meant(self, listed: OperationEntry) -> bool:
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
        sender = RequestBuilder(self.document, operation, base, access)
        definition = ToolDefinition.of(
            name,
            _truncated(operation.words or listed.label),
            sender.schema,
            read_only=listed.method in self.read_only,
            needs_approval=listed.method in self.needs_approval,
            deadline_ms=self.deadline_ms,
        )
        return OpenApiTool(definition, sender)


def _distinct(name: str, listed: OperationEntry, taken: set[str]) -> str:
    """The name, told apart by what is called where another operation has it for the model."""
    return f"{name}_{digest(listed.label)[:8]}" if outward_name(name) in taken else name


def _truncated(words: str) -> str:
    return words if len(words) <= _MAX_DESCRIPTION else f"{words[: _MAX_DESCRIPTION - 1]}…"


def _check_known(what: str, wanted: tuple[str, ...], known: list[str]) -> None:
    for name in wanted:
        if name not in known:
            raise OpenApiError(unknown_name(what, name, dict.fromkeys(known)))
