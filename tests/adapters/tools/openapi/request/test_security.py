"""Credentials: which scheme gets which, where it goes, and that it is shown nowhere."""

from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import Document, parsed_document
from toolreel.tools.openapi._request.security import Access, Credentials
from toolreel_core._jsontext.canonical import Json

SCHEMES: Json = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "appid"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "bearer": {"type": "http", "scheme": "Bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "oauth": {"type": "oauth2", "flows": {}},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://x.example"},
    "digest": {"type": "http", "scheme": "digest"},
    "mutual": {"type": "mutualTLS"},
    "other": {"$ref": "#/components/securitySchemes/header"},
}


def document() -> Document:
    return parsed_document({"openapi": "3.1.0", "components": {"securitySchemes": SCHEMES}})


def access(security: Json, **values: str) -> Access:
    return Credentials(values).access(document(), security)


@pytest.mark.parametrize(
    ("scheme", "headers", "query", "cookies"),
    [
        ("header", {"x-key": "me:pw&x"}, [], []),
        ("other", {"x-key": "me:pw&x"}, [], []),
        ("query", {}, ["appid=me%3Apw%26x"], []),
        ("cookie", {}, [], ["sid=me%3Apw%26x"]),
        ("bearer", {"authorization": "Bearer me:pw&x"}, [], []),
        ("oauth", {"authorization": "Bearer me:pw&x"}, [], []),
        ("oidc", {"authorization": "Bearer me:pw&x"}, [], []),
        ("basic", {"authorization": "Basic bWU6cHcmeA=="}, [], []),
    ],
)
def test_each_scheme_has_its_place(
    scheme: str, headers: dict[str, str], query: list[str], cookies: list[str]
) -> None:
    for found in (access([{scheme: []}], **{scheme: "me:pw&x"}), access([{scheme: []}], **{"*": "me:pw&x"})):
        assert (found.headers, found.pairs("query"), found.pairs("cookie")) == (headers, query, cookies)
        assert "pw" not in repr(found)


def test_the_first_alternative_for_which_all_is_there_is_taken() -> None:
    security: Json = [{"header": [], "query": []}, {"bearer": ["read"]}, {}]
    assert access(security, header="h", query="q").pairs("query") == ["appid=q"]
    assert access(security, header="h", bearer="b").headers == {"authorization": "Bearer b"}
    assert access(security, header="h") == access([]) == access(None) == Access()


@pytest.mark.parametrize(
    ("security", "why"),
    [
        ([{"header": []}, {"header": []}], "it needs a credential for 'header'"),
        ([{"header": []}, {"query": []}], "for 'header'; or it needs a credential for 'query'"),
        ([{"digest": []}], "'digest', a security scheme of type http digest, which is not supported"),
        ([{"mutual": []}], "'mutual', a security scheme of type mutualTLS, which is not supported"),
        ([{"none": []}], "the security scheme 'none', of which the document says nothing"),
    ],
)
def test_what_is_missing_or_not_spoken_is_named(security: Json, why: str) -> None:
    assert why in complaint(OpenApiError, lambda: access(security))


def test_credentials_come_from_the_environment_and_are_checked_there() -> None:
    environ = {"KEY": " k-1\n", "EMPTY": " ", "BAD": "a\nb"}
    assert Credentials.of({"a": "x"}, {"b": "KEY"}, environ).values == {"a": "x", "b": "k-1"}
    for name in ("EMPTY", "NONE"):
        said = complaint(OpenApiError, lambda name=name: Credentials.of({}, {"b": name}, environ))  # type: ignore[misc]
        assert said == f"the environment variable {name} is not set; put the credential into it"
    for given, variables in (({}, {"b": "BAD"}), ({"b": "clé"}, {}), ({"b": ""}, {})):
        said = complaint(OpenApiError, lambda g=given, v=variables: Credentials.of(g, v, environ))  # type: ignore[misc]
        assert said.startswith("the credential for 'b' is empty, or holds a line break")
        assert "clé" not in said


def test_a_credential_is_told_by_all_its_spellings_but_not_by_a_word() -> None:
    spellings = Credentials({"a": 'pass"word/1', "b": "no"}).spellings
    assert spellings == ("cGFzcyJ3b3JkLzE=", "pass%22word%2F1", 'pass\\"word/1', 'pass"word/1')
    assert "pass" not in repr(Credentials({"a": "pass"}))


def test_an_argument_cannot_take_the_place_of_a_credential() -> None:
    found = access([{"header": []}], header="h")
    assert found.takes("header", "x-KEY")
    assert not found.takes("query", "X-Key")
