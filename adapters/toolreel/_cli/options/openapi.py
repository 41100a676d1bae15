"""``--openapi FILE``: the operations of a document as tools, for as long as a command needs them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

import click

from toolreel._cli.output.console import err, printable
from toolreel._driver.ports import ToolHost
from toolreel_core._tools.surface import ToolDefinition

__all__ = ["OpenApiChoice", "OpenApiToolset", "openapi_options", "openapi_tools"]

_OPTIONS: Final = (
    click.option(
        "--openapi",
        "openapi_file",
        metavar="FILE",
        help="An OpenAPI document (3.0 or 3.1, JSON or YAML), or the URL of one; its operations are tools "
        "called openapi_NAME_OPERATION.",
    ),
    click.option(
        "--openapi-name", metavar="NAME", help="What stands for NAME there, rather than the file's name."
    ),
    click.option(
        "--openapi-tag",
        "openapi_tags",
        multiple=True,
        metavar="TAG",
        help="Only operations with this tag; may be repeated.",
    ),
    click.option(
        "--openapi-operation",
        "openapi_operations",
        multiple=True,
        metavar="ID",
        help="Only the operation with this operationId, beside those of tags; may be repeated.",
    ),
    click.option(
        "--openapi-base-url", metavar="URL", help="Where calls go, rather than to the document's server."
    ),
    click.option(
        "--openapi-auth-env",
        "openapi_auth",
        multiple=True,
        metavar="[SCHEME=]VAR",
        help="The environment variable with the credential for a security scheme of the document, or for "
        "all of them; may be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class OpenApiChoice:
    """What was said on the command line about a document."""

    file: str | None
    name: str | None
    tags: tuple[str, ...]
    operations: tuple[str, ...]
    base_url: str | None
    auth: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenApiToolset:
    """What a document offers, and who runs it."""

    definitions: tuple[ToolDefinition, ...] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """By the prefix of the names of their tools."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


def openapi_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options about a document, as one argument called ``openapi``."""

    @wraps(command)
    def bundled(
        *,
        openapi_file: str | None,
        openapi_name: str | None,
        openapi_tags: tuple[str, ...],
        openapi_operations: tuple[str, ...],
        openapi_base_url: str | None,
        openapi_auth: tuple[str, ...],
        **others: object,
    ) -> None:
        said = (openapi_name, openapi_tags, openapi_operations, openapi_base_url, openapi_auth)
        if openapi_file is None and any(said):
            raise click.UsageError("--openapi-… is about a document; say which: --openapi FILE")
        command(openapi=OpenApiChoice(openapi_file, *said), **others)

    given: Callable[..., None] = bundled
    for option in reversed(_OPTIONS):
        given = option(given)
    return given


@contextmanager
def openapi_tools(choice: OpenApiChoice) -> Generator[OpenApiToolset]:
    """Read a document, if there is one, and keep its connections until the context is left.

    :raises AdapterError: if the document cannot be used
    """
    if choice.file is None:
        yield OpenApiToolset()
        return
    import os

    from toolreel.tools.openapi._document.document import read_document
    from toolreel.tools.openapi._document.fetch import fetched_document
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
    )
    with OpenApiTools([source]) as tools:
        for each in tools.left_out:
            err.print(printable(f"left out    {each.name}: {each.why}"), style="yellow")
        yield OpenApiToolset(tools.surface.definitions, {f"{OPENAPI_PREFIX}_": tools}, tools.secrets)


def _scheme_and_variable(said: str) -> tuple[str, str]:
    scheme, equals, variable = said.rpartition("=")
    return (scheme if equals else "*"), variable
