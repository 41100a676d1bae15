"""``--openapi FILE``: operations of an OpenAPI document as tools."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import click

from toolreel._cli.options.option_bundle import bundle
from toolreel._cli.output.console import err, printable
from toolreel._driver.ports import ToolHost
from toolreel_core._tools.tool_definition import ToolDefinition


@dataclass(frozen=True, slots=True)
class OpenApiChoice:
    """The values of the ``--openapi`` options."""

    file: str | None
    name: str | None
    tags: tuple[str, ...]
    operations: tuple[str, ...]
    base_url: str | None
    auth: tuple[str, ...]
    auth_origins: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.file is None and any(
            (self.name, self.tags, self.operations, self.base_url, self.auth, self.auth_origins)
        ):
            raise click.UsageError("the --openapi-… options need a document: --openapi FILE")


@dataclass(frozen=True, slots=True)
class OpenApiToolset:
    """The tools of a document, and the host that runs them."""

    definitions: tuple[ToolDefinition, ...] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """Tool hosts by the prefix of the tool names that they run."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


openapi_options = bundle(
    "openapi",
    OpenApiChoice,
    click.option(
        "--openapi",
        "openapi_file",
        metavar="FILE",
        help="File or URL of an OpenAPI document (3.0 or 3.1, JSON or YAML). Its operations become tools "
        "named openapi_NAME_OPERATION.",
    ),
    click.option(
        "--openapi-name", metavar="NAME", help="NAME in the tool names; by default the name of the file."
    ),
    click.option(
        "--openapi-tag",
        "openapi_tags",
        multiple=True,
        metavar="TAG",
        help="Use only operations with this tag. Repeatable.",
    ),
    click.option(
        "--openapi-operation",
        "openapi_operations",
        multiple=True,
        metavar="ID",
        help="Use only the operation with this operationId, and those of --openapi-tag. Repeatable.",
    ),
    click.option(
        "--openapi-base-url", metavar="URL", help="Server for the calls; by default the one in the document."
    ),
    click.option(
        "--openapi-auth-env",
        "openapi_auth",
        multiple=True,
        metavar="[SCHEME=]VAR",
        help="Environment variable with the credential for a security scheme of the document; without "
        "SCHEME=, for all schemes. Sent to the server of --openapi-base-url (or that of the document's URL), "
        "and to those of --openapi-auth-origin. Repeatable.",
    ),
    click.option(
        "--openapi-auth-origin",
        "openapi_auth_origins",
        multiple=True,
        metavar="URL",
        help="A server that the document names and that may get the credentials. Repeatable.",
    ),
    prefix="openapi_",
)
"""Adds the ``--openapi`` options to a command, which receives them as one argument ``openapi``."""


@contextmanager
def openapi_tools(choice: OpenApiChoice) -> Generator[OpenApiToolset]:
    """Read the chosen document; close its connections when the context exits.

    :raises AdapterError: if the document cannot be used
    """
    if choice.file is None:
        yield OpenApiToolset()
        return
    import os

    from toolreel.tools.openapi._document.document import fetched_document, read_document
    from toolreel.tools.openapi._host import OpenApiTools
    from toolreel.tools.openapi._request.security import Credentials
    from toolreel.tools.openapi._source import OPENAPI_PREFIX, OpenApiSource

    remote = urlsplit(choice.file).scheme in {"http", "https"}
    document = fetched_document(choice.file) if remote else read_document(choice.file)
    variables = dict(_scheme_and_variable(each) for each in choice.auth)
    source = OpenApiSource(
        choice.name or PurePosixPath(urlsplit(choice.file).path).stem or "api",
        document,
        tags=choice.tags,
        operation_ids=choice.operations,
        base_url=choice.base_url,
        credentials=Credentials.of({}, variables, os.environ),
        credential_origins=choice.auth_origins,
    )
    with OpenApiTools([source]) as tools:
        for each in tools.left_out:
            err.print(printable(f"left out    {each.name}: {each.why}"), style="yellow")
        yield OpenApiToolset(tools.surface.definitions, {f"{OPENAPI_PREFIX}_": tools}, tools.secrets)


def _scheme_and_variable(option: str) -> tuple[str, str]:
    scheme, equals, variable = option.rpartition("=")
    return (scheme if equals else "*"), variable
