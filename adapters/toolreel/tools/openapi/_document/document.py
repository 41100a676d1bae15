"""OpenAPI documents: read them, and resolve references.

A document is read from text, a file or parsed JSON; from a URL only by :func:`fetched_document`. References
must stay inside the document: no other file or URL is ever opened. YAML is read by the rules of version 1.2;
by those of 1.1, which PyYAML follows, ``no`` is false and ``2024-01-01`` a date.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote

from toolreel._internal.errors import MissingExtra, OpenApiError
from toolreel._secrets.urls import scrubbed_url
from toolreel.http._bounded_decoder import ACCEPT_ENCODING, BodyError, BoundedDecoder
from toolreel.http._httpx_endpoint import chunks_of, headers_of
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import MAX_DEPTH, Json, Tree, either, parse, read
from toolreel_core._jsontext.tree_access import json_text

try:
    from toolreel._internal.safe_yaml import TAG, Rules, Scalar, YamlError, read_tree
except ImportError:
    raise MissingExtra.of("openapi", "PyYAML") from None

try:
    import httpx
except ImportError:
    raise MissingExtra.of("openapi", "httpx") from None


_TIMEOUT: Final = 30.0
_ACCEPT: Final = "application/json, application/yaml, text/*;q=0.9, */*;q=0.5"


def fetched_document(url: str, *, transport: httpx.BaseTransport | None = None) -> Document:
    """Fetch a document; its relative servers are resolved against the URL.

    Redirects are not followed.

    :raises OpenApiError: if it cannot be fetched or read; names the URL and the place
    """
    headers = {"accept": _ACCEPT, "accept-encoding": ACCEPT_ENCODING}
    where = scrubbed_url(url)
    try:
        with (
            httpx.Client(transport=transport, timeout=_TIMEOUT) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if not response.is_success:
                raise OpenApiError(f"{where}: cannot be fetched: HTTP {response.status_code}")
            decoder = BoundedDecoder(headers_of(response).get("content-encoding", ""), MAX_DOCUMENT_BYTES)
            for chunk in chunks_of(response):
                decoder.feed(chunk)
        return parsed_document(decoder.finish(), url=url)
    except (httpx.HTTPError, httpx.InvalidURL, BodyError) as error:
        raise OpenApiError(f"{where}: cannot be fetched: {type(error).__name__}: {error}") from None
    except OpenApiError as error:
        raise OpenApiError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from None


VALUES: Final = 2_000_000
"""Values that a document may have with its aliases unfolded; the largest public ones have half a million."""

# The core schema of YAML 1.2, section 10.3.2, without octal and hexadecimal numbers, infinity and NaN.
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = re.compile(r"[-+]?[0-9]{1,400}")
"""An integer of YAML 1.2, with bounded length."""
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
"""A number of YAML 1.2, with bounded lengths."""


def read_yaml(text: str) -> Json:
    """The value of a YAML text.

    >>> read_yaml("200: {on: no, since: 2024-01-01, most: 1.5}")
    {'200': {'on': 'no', 'since': '2024-01-01', 'most': 1.5}}

    :raises OpenApiError: if it is not YAML, or has values that JSON lacks; names line and column
    """
    try:
        return cast("Json", read_tree(text, _RULES))
    except YamlError as error:
        raise OpenApiError(str(error)) from None


def _scalar(text: str) -> Scalar:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


_RULES: Final = Rules(
    plain=_scalar,
    # OpenAPI allows the tags of JSON's values alone.
    tags={
        "!": str,
        f"{TAG}str": str,
        f"{TAG}null": _scalar,
        f"{TAG}bool": _BOOLS.__getitem__,
        f"{TAG}int": int,
        f"{TAG}float": float,
    },
    max_depth=MAX_DEPTH,
    max_size=VALUES,
    unit="values",
    merge=True,
    keys_as_written=True,
)


_VERSION: Final = re.compile(r"3\.[01](\.\d+)?(-.*)?")
"""The versions of OpenAPI that are read."""
_MAX_REFERENCES: Final = 32
"""Maximum length of a chain of references."""
MAX_DOCUMENT_BYTES: Final = 32 * 2**20
"""Maximum size of a document; the largest public ones have a third of it."""


@dataclass(frozen=True, slots=True)
class Document:
    """An OpenAPI document of version 3.0 or 3.1."""

    tree: Tree
    older: bool
    """Whether it is OpenAPI 3.0, whose schemas differ from JSON Schema."""
    url: str = field(default="", repr=False)
    """Where it was fetched; relative servers are resolved against it."""

    @classmethod
    def of(cls, tree: Json, url: str = "") -> Document:
        """A document from parsed JSON.

        :raises OpenApiError: if it is not an OpenAPI document, or its version is not supported
        """
        if not isinstance(tree, Mapping):
            raise OpenApiError("not an OpenAPI document: expected an object with the key 'openapi'")
        if "swagger" in tree:
            raise OpenApiError(
                f"Swagger {tree['swagger']} is not supported; convert the document to OpenAPI 3, "
                "for example with swagger2openapi"
            )
        version = tree.get("openapi")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            given = "it has no key 'openapi'" if version is None else f"got openapi: {version!r}"
            raise OpenApiError(f"expected an OpenAPI document of version 3.0 or 3.1; {given}")
        return cls(tree, version.startswith("3.0"), url)

    def found(self, reference: str) -> Json:
        """The value at a reference, such as ``#/components/schemas/Pet``.

        :raises OpenApiError: if it points out of the document, or to nothing
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
        """An object, with its references resolved.

        :raises OpenApiError: if it is not an object, or a reference is broken or circular
        """
        for _ in range(_MAX_REFERENCES):
            if not isinstance(value, Mapping):
                raise OpenApiError(f"{what}: expected an object, got {value!r:.80}")
            if "$ref" not in value:
                return value
            value = self.found(str(value["$ref"]))
        raise OpenApiError(f"{what}: its references lead from one to the next without end")


def read_document(path: str | os.PathLike[str]) -> Document:
    """Read a document in JSON or YAML from a file.

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


def parsed_document(source: str | bytes | Mapping[str, Json], *, url: str = "") -> Document:
    """A document from JSON or YAML text, or from parsed JSON.

    >>> parsed_document("openapi: 3.1.0").older
    False

    :param url: where it comes from; relative servers are resolved against it
    :raises OpenApiError: if it cannot be read, or its version is not supported
    """
    if isinstance(source, Mapping):
        try:
            return Document.of(parse(json_text(source, "document")), url)
        except ConfigError as error:
            raise OpenApiError(str(error)) from None
    if len(source) > MAX_DOCUMENT_BYTES:
        raise OpenApiError(f"larger than {MAX_DOCUMENT_BYTES} bytes; remove operations that you do not need")
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise OpenApiError(f"not UTF-8 at byte {error.start}") from None
    if not text.lstrip().startswith("{"):
        return Document.of(read_yaml(text), url)
    tree = either(read(text, unique_keys=True).alt(lambda why: OpenApiError(f"not JSON: {why}")))
    if isinstance(tree, OpenApiError):
        raise tree
    return Document.of(tree, url)
