"""What a server asks for to let somebody in: read from the document, filled in from what was given.

A credential is no argument: it stands in no tool's schema, and goes out with a request alone.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote

from toolreel._errors import OpenApiError
from toolreel.tools.openapi._document.document import Document
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core._jsontext.canonical import Json, Tree

__all__ = ["Access", "CredentialField", "Credentials"]

_MIN_REDACTED: Final = 6
"""Characters of a credential that are struck out of what comes back; less would strike out words."""


@dataclass(frozen=True, slots=True)
class CredentialField:
    """One thing that lets a request in."""

    place: Literal["header", "query", "cookie"]
    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """All that lets the requests of an operation in; of an open one, nothing."""

    admissions: tuple[CredentialField, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry credentials."""
        return {each.name.lower(): each.value for each in self.admissions if each.place == "header"}

    @property
    def query(self) -> list[str]:
        """The parts of a query that carry credentials."""
        named = [each for each in self.admissions if each.place == "query"]
        return [f"{quote(each.name, safe='')}={quote(each.value, safe='')}" for each in named]

    @property
    def cookies(self) -> list[str]:
        """The parts of a ``Cookie`` header that carry credentials."""
        named = [each for each in self.admissions if each.place == "cookie"]
        return [f"{quote(each.name, safe='')}={quote(each.value, safe='')}" for each in named]

    def takes(self, place: str, name: str) -> bool:
        """Whether a credential goes to this place, so that no argument can."""
        return any(
            each.place == place
            and (each.name == name or (place == "header" and each.name.lower() == name.lower()))
            for each in self.admissions
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """What was given to be let in with, by the name of the scheme in the document; ``*`` fits every scheme.

    Of a scheme for user and password it is ``user:password``; of OAuth 2 and OpenID Connect an access token.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, values: Mapping[str, str], variables: Mapping[str, str], environ: Mapping[str, str]
    ) -> Credentials:
        """Credentials that were given as they are, and those that variables of the environment hold.

        :raises OpenApiError: if one is missing, or none that a request can carry; never shows it
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
        """How they may stand in what comes back, the longest first."""
        found = [form for value in self.values.values() for form in _encodings(value)]
        return tuple(
            sorted(
                {form for form in found if len(form) >= _MIN_REDACTED}, key=lambda form: (-len(form), form)
            )
        )

    def check(self, document: Document) -> None:
        """Make sure that each belongs to a scheme of the document.

        :raises OpenApiError: if one does not
        """
        schemes = _schemes(document)
        for name in self.values:
            if name != "*" and name not in schemes:
                raise OpenApiError(f"credentials: {unknown_name('security scheme', name, schemes or ['*'])}")

    def access(self, document: Document, security: Json) -> Access:
        """What lets an operation's requests in: the first of its alternatives for which all is there.

        :param security: the operation's own, or the document's
        :raises OpenApiError: if for none of them all is there
        """
        if not isinstance(security, Sequence) or isinstance(security, str) or not security:
            return Access()
        missing: list[str] = []
        for alternative in security:
            needed = document.opened(alternative, "security")
            try:
                return Access(tuple(self._admissions(document, needed)))
            except OpenApiError as error:
                missing.append(str(error))
        raise OpenApiError("; or ".join(dict.fromkeys(missing)))

    def _admissions(self, document: Document, needed: Tree) -> Iterator[CredentialField]:
        schemes = _schemes(document)
        for name in needed:
            if name not in schemes:
                raise OpenApiError(
                    f"it asks for the security scheme {name!r}, of which the document says nothing"
                )
            value = self.values.get(name, self.values.get("*"))
            scheme = document.opened(schemes[name], f"securitySchemes.{name}")
            _check(name, scheme)
            if value is None:
                raise OpenApiError(f"it needs a credential for {name!r}")
            yield _credential_field(name, scheme, value)


def _schemes(document: Document) -> Mapping[str, Json]:
    components = document.tree.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    return schemes if isinstance(schemes, Mapping) else {}


def _check(name: str, scheme: Tree) -> None:
    """Refuse a scheme that is not spoken here, before a credential is asked for in vain."""
    _credential_field(name, scheme, "?")


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
                "spoken here; apiKey, http basic, http bearer, oauth2 and openIdConnect are"
            )


def _encodings(value: str) -> tuple[str, ...]:
    in_json = json.dumps(value)[1:-1]
    return value, in_json, quote(value, safe=""), b64encode(value.encode()).decode()
