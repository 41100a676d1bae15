"""Security schemes of a document, filled in from the user's credentials.

Credentials are not arguments: the model never sees them, and they are only part of requests.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote

from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json, Tree

_MIN_REDACTED: Final = 6
"""Minimum length of a credential to redact in responses; shorter ones would match ordinary words."""


@dataclass(frozen=True, slots=True)
class CredentialField:
    """One header, query parameter or cookie with a credential."""

    location: Literal["header", "query", "cookie"]
    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """All credential fields of an operation's requests; empty without security."""

    fields: tuple[CredentialField, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry credentials."""
        return {each.name.lower(): each.value for each in self.fields if each.location == "header"}

    def pairs(self, location: Literal["query", "cookie"]) -> list[str]:
        """The parts of a query or of a ``Cookie`` header that carry credentials."""
        named = [each for each in self.fields if each.location == location]
        return [f"{quote(each.name, safe='')}={quote(each.value, safe='')}" for each in named]

    def takes(self, location: str, name: str) -> bool:
        """Whether a credential uses this field, so that it cannot be an argument."""
        return any(
            each.location == location
            and (each.name == name or (location == "header" and each.name.lower() == name.lower()))
            for each in self.fields
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials by the name of the security scheme in the document; ``*`` applies to every scheme.

    For HTTP basic it is ``user:password``; for OAuth 2 and OpenID Connect an access token.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, values: Mapping[str, str], variables: Mapping[str, str], environ: Mapping[str, str]
    ) -> Credentials:
        """Credentials from values and from environment variables.

        :raises OpenApiError: if one is missing or cannot be sent; the message never contains it
        """
        found = dict(values)
        for scheme, variable in variables.items():
            value = environ.get(variable, "").strip()
            if not value:
                raise OpenApiError(
                    f"the environment variable {variable} is not set; put the credential into it"
                )
            found[scheme] = value
        for scheme, value in found.items():
            if not (value.isascii() and value.isprintable() and value.strip()):
                raise OpenApiError(
                    f"the credential for {scheme!r} is empty, or holds a line break or another "
                    "character that no header can carry"
                )
        return cls(found)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Their encodings to redact in responses, the longest first."""
        found = {form for value in self.values.values() for form in _encodings(value)}
        return tuple(
            sorted((each for each in found if len(each) >= _MIN_REDACTED), key=lambda e: (-len(e), e))
        )

    def check(self, document: Document) -> None:
        """Check that each belongs to a scheme of the document.

        :raises OpenApiError: if one does not
        """
        schemes = _schemes(document)
        for name in self.values:
            if name != "*" and name not in schemes:
                raise OpenApiError(f"credentials: {unknown_name('security scheme', name, schemes or ['*'])}")

    def access(self, document: Document, security: Json) -> Access:
        """The credentials for an operation: the first alternative for which all are available.

        :param security: the ``security`` of the operation, or else of the document
        :raises OpenApiError: if no alternative is complete
        """
        if not isinstance(security, Sequence) or isinstance(security, str) or not security:
            return Access()
        missing: list[str] = []
        for alternative in security:
            needed = document.opened(alternative, "security")
            try:
                return Access(tuple(self._fields(document, needed)))
            except OpenApiError as error:
                missing.append(str(error))
        raise OpenApiError("; or ".join(dict.fromkeys(missing)))

    def _fields(self, document: Document, needed: Tree) -> Iterator[CredentialField]:
        schemes = _schemes(document)
        for name in needed:
            if name not in schemes:
                raise OpenApiError(
                    f"it asks for the security scheme {name!r}, of which the document says nothing"
                )
            value = self.values.get(name, self.values.get("*"))
            scheme = document.opened(schemes[name], f"securitySchemes.{name}")
            credential = _credential_field(name, scheme, value or "")
            if value is None:  # reported only for schemes that are supported
                raise OpenApiError(f"it needs a credential for {name!r}")
            yield credential


def _schemes(document: Document) -> Mapping[str, Json]:
    components = document.tree.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    return schemes if isinstance(schemes, Mapping) else {}


def _credential_field(name: str, scheme: Tree, value: str) -> CredentialField:
    match scheme:
        case {"type": "apiKey", "in": "header", "name": str() as where}:
            return CredentialField("header", where, value)
        case {"type": "apiKey", "in": "query", "name": str() as where}:
            return CredentialField("query", where, value)
        case {"type": "apiKey", "in": "cookie", "name": str() as where}:
            return CredentialField("cookie", where, value)
        case {"type": "http", "scheme": str() as kind} if kind.lower() == "bearer":
            return CredentialField("header", "authorization", f"Bearer {value}")
        case {"type": "http", "scheme": str() as kind} if kind.lower() == "basic":
            return CredentialField("header", "authorization", f"Basic {b64encode(value.encode()).decode()}")
        case {"type": "oauth2" | "openIdConnect"}:
            return CredentialField("header", "authorization", f"Bearer {value}")
        case _:
            kind = " ".join(str(scheme[key]) for key in ("type", "scheme") if key in scheme)
            raise OpenApiError(
                f"it asks for {name!r}, a security scheme of type {kind or 'unknown'}, which is not "
                "supported; apiKey, http basic, http bearer, oauth2 and openIdConnect are"
            )


def _encodings(value: str) -> tuple[str, ...]:
    in_json = json.dumps(value)[1:-1]
    return value, in_json, quote(value, safe=""), b64encode(value.encode()).decode()
