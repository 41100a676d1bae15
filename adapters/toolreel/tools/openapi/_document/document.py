"""OpenAPI documents: read, and looked up in.

A document is read from a text, a file or what was parsed already; from a URL only by
:mod:`toolreel.tools.openapi._document.fetch`, for whoever asks for that. Whatever a document refers to has to
be in it: nothing else is ever opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from toolreel._errors import OpenApiError
from toolreel.tools.openapi._document.yaml import read_yaml
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, Tree, either, parse, read
from toolreel_core._jsontext.of_python import json_text

__all__ = ["LARGEST", "Document", "parsed_document", "read_document"]

_VERSION: Final = re.compile(r"3\.[01](\.\d+)?(-.*)?")
_HOPS: Final = 32
"""References that may lead from one to the next."""
LARGEST: Final = 32 * 2**20
"""Bytes of a document that are read; the largest public ones have a third of that."""


@dataclass(frozen=True, slots=True)
class Document:
    """An OpenAPI document of version 3.0 or 3.1."""

    tree: Tree
    older: bool
    """Whether its schemas are those of OpenAPI 3.0, which are not quite JSON Schema."""
    url: str = ""
    """Where it was fetched, against which relative servers are meant."""

    @classmethod
    def of(cls, tree: Json, url: str = "") -> Document:
        """A document that was parsed already.

        :raises OpenApiError: if it is none, or of a version that is not understood
        """
        if not isinstance(tree, Mapping):
            raise OpenApiError("not an OpenAPI document: expected an object with the key 'openapi'")
        if "swagger" in tree:
            raise OpenApiError(
                f"Swagger {tree['swagger']} is not read here; convert the document to OpenAPI 3, "
                "for example with swagger2openapi"
            )
        version = tree.get("openapi")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            given = "it has no key 'openapi'" if version is None else f"got openapi: {version!r}"
            raise OpenApiError(f"expected an OpenAPI document of version 3.0 or 3.1; {given}")
        return cls(tree, version.startswith("3.0"), url)

    def found(self, reference: str) -> Json:
        """What stands at a place of the document, such as ``#/components/schemas/Pet``.

        :raises OpenApiError: if that is no place in it
        """
        if not reference.startswith("#"):
            raise OpenApiError(
                f"$ref {reference!r} leads out of the document; put what it means into the document itself"
            )
        if reference[1:2] not in {"", "/"}:
            raise OpenApiError(f"$ref {reference!r} is an anchor; refer to a place, such as #/components/…")
        at: Json = self.tree
        for step in reference.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(at, Mapping) and key in at:
                at = at[key]
            elif isinstance(at, Sequence) and not isinstance(at, str) and key in map(str, range(len(at))):
                at = at[int(key)]
            else:
                raise OpenApiError(f"$ref {reference!r} points to nothing in the document")
        return at

    def opened(self, value: Json, what: str) -> Tree:
        """An object of the document, itself or by reference.

        :raises OpenApiError: if it is none, or the references lead nowhere
        """
        for _ in range(_HOPS):
            if not isinstance(value, Mapping):
                raise OpenApiError(f"{what}: expected an object, got {_shown(value)}")
            if "$ref" not in value:
                return value
            value = self.found(str(value["$ref"]))
        raise OpenApiError(f"{what}: its references lead from one to the next without end")


def read_document(path: str | os.PathLike[str]) -> Document:
    """The document in a file, in JSON or YAML.

    :raises OpenApiError: if it cannot be read; names the file and the place
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise OpenApiError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from None
    try:
        return parsed_document(data)
    except OpenApiError as error:
        raise OpenApiError(f"{os.fspath(path)}: {error}") from None


def parsed_document(given: str | bytes | Mapping[str, Json], *, url: str = "") -> Document:
    """The document in a text, in JSON or YAML, or in what was parsed already.

    >>> parsed_document("openapi: 3.1.0").older
    False

    :param url: where it comes from, against which its relative servers are meant
    :raises OpenApiError: if it cannot be read, or is of a version that is not understood
    """
    if isinstance(given, Mapping):
        try:
            return Document.of(parse(json_text(given, "document")), url)
        except ConfigError as error:
            raise OpenApiError(str(error)) from None
    if len(given) > LARGEST:
        raise OpenApiError(f"larger than {LARGEST} bytes; leave out of it what is not needed")
    try:
        text = given.decode("utf-8-sig") if isinstance(given, bytes) else given.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise OpenApiError(f"not UTF-8 at byte {error.start}") from None
    if not text.lstrip().startswith("{"):
        return Document.of(read_yaml(text), url)
    tree = either(read(text, unique_keys=True).alt(lambda why: OpenApiError(f"not JSON: {why}")))
    if isinstance(tree, OpenApiError):
        raise tree
    return Document.of(tree, url)


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
