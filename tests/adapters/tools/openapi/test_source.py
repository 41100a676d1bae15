"""What of a document is offered to a model, under which names, and what is left out and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint
from tests.servers.pet_shop import PETS, document, source
from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import Document, parsed_document
from toolreel.tools.openapi._request.security import Credentials
from toolreel.tools.openapi._source import OpenApiSource
from toolreel_core._jsontext.canonical import Json, canonical, parse
from toolreel_core._tools.names import outward_name

URL = "http://127.0.0.1:9"
ALL = Credentials({"key": "k-012345", "token": "t-012345"})


def names(made: OpenApiSource) -> list[str]:
    return [name.removeprefix("openapi_shop_") for name in made.offer().tools]


def parameters(made: OpenApiSource, name: str) -> Any:  # noqa: ANN401 - a tree that the test knows
    return parse(made.offer().tools[f"openapi_{made.name}_{name}"].definition.parameters)


def with_paths(**paths: Json) -> Document:
    return parsed_document(
        canonical({"openapi": "3.1.0", "servers": [{"url": "http://x.example"}], "paths": paths})
    )


def one(**operation: Json) -> OpenApiSource:
    return OpenApiSource("x", document(get={"operationId": "do", **operation}))


def test_every_operation_is_a_tool_named_after_it_unless_deprecated() -> None:
    assert names(source(URL, credentials=ALL)) == [
        "listPets", "addPet", "getPet", "delete_pets_id", "orders", "order", "sendPicture",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"tags": ("orders",)}, ["orders", "order"]),
        ({"tags": ("orders",), "operation_ids": ("getPet",)}, ["getPet", "orders", "order"]),
        ({"tags": ("pets",), "methods": ("GET",)}, ["listPets", "getPet"]),
        ({"paths": ("/pets/*",)}, ["getPet", "delete_pets_id"]),
        ({"paths": ("/pets/*",), "deprecated": True}, ["getPet", "delete_pets_id", "replacePet"]),
        ({"operation_ids": ("replacePet",)}, ["replacePet"]),
    ],
)
def test_operations_are_selected_by_tag_id_path_and_method(
    wanted: dict[str, object], found: list[str]
) -> None:
    assert names(source(URL, credentials=ALL, **wanted)) == found


def test_a_definition_says_what_the_document_says() -> None:
    tools = source(URL, credentials=ALL).offer().tools
    pets, new, gone = (
        tools[f"openapi_shop_{name}"].definition for name in ("listPets", "addPet", "delete_pets_id")
    )
    assert (pets.description, pets.read_only, pets.needs_approval) == (
        "List the pets in the shop.",
        True,
        False,
    )
    assert (new.description, new.read_only, new.needs_approval) == ("POST /pets", False, True)
    assert (gone.description, gone.needs_approval) == ("DELETE /pets/{id}", True)
    assert parse(pets.parameters) == {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "exclusiveMinimum": 0},
            "kinds": {"type": "array", "items": {"$ref": "#/$defs/Kind"}},
            "X-Trace": {"type": "string", "description": "Shown in the shop's log."},
            "seen": {"type": "string"},
        },
        "additionalProperties": False,
        "$defs": {"Kind": {"type": "string", "enum": ["cat", "dog"]}},
    }
    assert parse(new.parameters) == {
        "type": "object",
        "properties": {"body": {"$ref": "#/$defs/Pet"}},
        "additionalProperties": False,
        "required": ["body"],
        "$defs": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "nick": {"type": ["string", "null"]},
                    "mother": {"$ref": "#/$defs/Pet"},
                },
            }
        },
    }


def test_how_calls_are_run_is_the_users_to_say() -> None:
    made = source(URL, tags=("pets",), read_only=(), needs_approval=("DELETE",), deadline_ms=500)
    flags = [
        (tool.definition.read_only, tool.definition.needs_approval) for tool in made.offer().tools.values()
    ]
    assert flags == [(False, False), (False, False), (False, False), (False, True)]
    assert {tool.definition.deadline_ms for tool in made.offer().tools.values()} == {500}


def test_what_cannot_be_called_is_left_out_by_name() -> None:
    left_out = source(URL).offer().left_out
    assert [(each.name, each.why) for each in left_out] == [
        ("openapi_shop_orders", "it needs a credential for 'key'; or it needs a credential for 'token'"),
        ("openapi_shop_order", "it needs a credential for 'key'"),
        (
            "openapi_shop_putPicture",
            "it takes a body of image/png; "
            "only JSON, form fields, multipart/form-data and text/plain can be written",
        ),
    ]


def test_what_was_asked_for_by_its_id_is_not_left_out_in_silence() -> None:
    made = source(URL, operation_ids=("orders", "getPet"))
    assert complaint(OpenApiError, made.offer).startswith(
        "operation 'orders' cannot be offered: it needs a cred"
    )
    made = source(URL, tags=("orders",))
    assert complaint(OpenApiError, made.offer).startswith(
        "shop: there is no operation to offer; none of 2 can be"
    )
    made = OpenApiSource("x", with_paths())
    assert (
        complaint(OpenApiError, made.offer)
        == "x: there is no operation to offer; no operation matches the selection"
    )


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"tags": ("pet",)}, "there is no tag 'pet'; did you mean 'pets'?"),
        ({"operation_ids": ("getPets",)}, "there is no operation 'getPets'; did you mean 'getPet'?"),
        ({"methods": ("get",)}, "methods: there is no method 'get'"),
        (
            {"credentials": Credentials({"keys": "x"})},
            "credentials: there is no security scheme 'keys'; did you",
        ),
        ({"name": " "}, "needs a name that is not empty"),
        ({"base_url": "pets.example"}, "base URL 'pets.example': expected http:// or https:// and a host"),
        ({"base_url": "http://h:99999"}, "base URL 'http://h:99999': expected"),
        ({"base_url": "http://me:secret@h"}, "base URL: leave user and password out of it"),
    ],
)
def test_what_is_named_must_be_there(wanted: dict[str, object], why: str) -> None:
    chosen: dict[str, Any] = {"name": "shop", "base_url": URL, **wanted}
    said = complaint(OpenApiError, lambda: OpenApiSource(document=parsed_document(PETS), **chosen))
    assert why in said
    assert "secret" not in said


def test_names_fit_are_unique_for_the_model_and_always_the_same() -> None:
    paths: Json = {
        "/a": {"get": {"operationId": "get.it"}, "put": {"operationId": "get_it"}},
        "/b/{c}/d": {"get": {"parameters": [{"name": "c", "in": "path"}]}},
        "/e": {"get": {"operationId": "x" * 300}, "put": {"operationId": "x" * 301}},
        "/": {"get": {}},
    }
    assert isinstance(paths, dict)
    found = list(OpenApiSource("my shop", with_paths(**paths)).offer().tools)
    assert found[:3] == [
        "openapi_my_shop_get.it",
        "openapi_my_shop_get_it_b5a4a460",
        "openapi_my_shop_get_b_c_d",
    ]
    assert found[5] == "openapi_my_shop_get"
    assert len({outward_name(name) for name in found}) == len(found) == 6


def test_arguments_of_the_same_name_are_told_apart_by_their_place() -> None:
    places: Json = [
        {"name": "id", "in": "query"},
        {"name": "id", "in": "header"},
        {"name": "filter[name]", "in": "query"},
        {"name": "filter(name)", "in": "query"},
        {"name": "filter{name}", "in": "query"},
        {"name": "body", "in": "query"},
        {"name": "x" * 70, "in": "query"},
    ]
    made = one(parameters=places, requestBody={"content": {"application/json": {}}})
    found = parameters(made, "do")
    assert list(found["properties"]) == [
        "id", "header_id", "filter_name_", "query_filter_name_", "query_filter_name__2",
        "query_body", "x" * 64, "body",
    ]  # fmt: skip
    sent = (
        made.offer().tools["openapi_x_do"].builder.prepare({"id": 1, "header_id": 2, "query_filter_name_": 3})
    )
    assert sent.url == "http://x.example/x?id=1&filter%28name%29=3"
    assert sent.headers["id"] == "2"


def test_an_operation_overrides_its_path_and_headers_of_the_request_itself_are_no_arguments() -> None:
    item: Json = {
        "parameters": [
            {"name": "n", "in": "query", "schema": {"type": "string"}},
            {"name": "z", "in": "path"},
        ],
        "get": {
            "operationId": "do",
            "parameters": [
                {"name": "n", "in": "query", "schema": {"type": "integer"}},
                {"name": "Authorization", "in": "header"},
                {"name": "Host", "in": "header"},
                {"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
            ],
        },
    }
    made = OpenApiSource("x", with_paths(**{"/y/{id}": item}))
    found = parameters(made, "do")
    assert found["properties"] == {
        "n": {"type": "integer"},
        "q": {"type": "object"},
        "id": {"type": "string"},
    }
    assert found["required"] == ["id"]


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"parameters": [{"name": "a", "in": "body"}]}, "a place of path, query, header, cookie; got 'body'"),
        ({"parameters": [{"in": "query"}]}, "a parameter needs a name"),
        ({"parameters": [{"name": "a b", "in": "header"}]}, "'a b' cannot be the name of a header"),
        ({"parameters": [{"name": "a\r\nb", "in": "cookie"}]}, "cannot be the name of a cookie"),
        (
            {"parameters": [{"name": "a", "in": "header", "style": "form"}]},
            "parameter 'a': the style of a header parameter is simple, got 'form'",
        ),
        (
            {"parameters": [{"name": "a", "in": "query", "content": {"text/csv": {}}}]},
            "parameter 'a': only JSON can be written in a parameter, not text/csv",
        ),
        ({"parameters": [{"$ref": "other.yaml#/a"}]}, "$ref 'other.yaml#/a' leads out of the document"),
        (
            {"security": [{"mutual": []}]},
            "it asks for the security scheme 'mutual', of which the document says not",
        ),
        (
            {"requestBody": {"content": {"application/json": {"schema": {"$ref": "http://x/y"}}}}},
            "leads out of",
        ),
        ({"parameters": [{"name": "a", "in": "query", "schema": {"type": "text"}}]}, "not a JSON Schema at"),
        (
            {"servers": [{"url": "/v1"}]},
            "its server is '/v1', which is relative; say where it is by a base URL",
        ),
        ({"servers": [{"url": "http://{a}.example"}]}, "its server has a variable 'a' without a default"),
        (
            {"servers": [{"url": "ftp://a.example"}]},
            "base URL 'ftp://a.example': expected http:// or https://",
        ),
    ],
)
def test_an_operation_that_cannot_be_sent_is_left_out_and_says_why(
    operation: dict[str, Json], why: str
) -> None:
    made = OpenApiSource("x", with_paths(**{"/x": {"get": {"operationId": "bad", **operation}, "put": {}}}))
    offer = made.offer()
    assert list(offer.tools) == ["openapi_x_put_x"]
    assert [each.name for each in offer.left_out] == ["openapi_x_bad"]
    assert why in offer.left_out[0].why


def test_paths_that_are_none_are_refused_at_once() -> None:
    said = complaint(OpenApiError, lambda: OpenApiSource("x", with_paths(pets={})))
    assert said == "paths.pets: a path begins with /"
    said = complaint(
        OpenApiError, lambda: OpenApiSource("x", parsed_document({"openapi": "3.0.0", "paths": []}))
    )
    assert said == "paths: expected an object"
    assert names(
        OpenApiSource("shop", with_paths(**{"/a#b": {"get": {}}, "x-more": {}, "/c": {"get": {}}}))
    ) == ["get_c"]


def sent_to(made: OpenApiSource, name: str = "getPet") -> str:
    return made.offer().tools[f"openapi_{made.name}_{name}"].builder.prepare({"id": "3"}).url


def test_the_server_is_the_documents_first_with_its_variables_or_the_users() -> None:
    pets = parsed_document(PETS)
    assert sent_to(OpenApiSource("s", pets, tags=("pets",))) == "https://eu.pets.example/v2/pets/3"
    made = OpenApiSource("s", pets, tags=("pets",), variables={"region": "us"})
    assert sent_to(made) == "https://us.pets.example/v2/pets/3"
    assert sent_to(OpenApiSource("s", pets, tags=("pets",), base_url="http://h/x/")) == "http://h/x/pets/3"
    made = OpenApiSource("s", pets, tags=("pets",), variables={"region": "evil.example#"})
    assert "server variable 'region': expected one of eu, us, got 'evil" in complaint(
        OpenApiError, made.offer
    )


def test_a_path_may_have_a_query_of_its_own() -> None:
    paths: dict[str, Json] = {
        "/a?beta=true": {"get": {"operationId": "a", "parameters": [{"name": "n", "in": "query"}]}},
        "/a?beta={b}": {"get": {"operationId": "b"}},
    }
    offer = OpenApiSource("x", with_paths(**paths)).offer()
    assert [each.name for each in offer.left_out] == ["openapi_x_b"]
    sender = offer.tools["openapi_x_a"].builder
    assert sender.prepare({"n": 1}).url == "http://x.example/a?beta=true&n=1"
    assert sender.prepare({}).url == "http://x.example/a?beta=true"


def test_a_relative_server_is_meant_from_where_the_document_was_fetched() -> None:
    tree: Json = {"openapi": "3.1.0", "servers": [{"url": "../v1"}], "paths": {"/x": {"get": {}}}}
    fetched = parsed_document(canonical(tree), url="https://h.example/docs/api.json")
    assert sent_to(OpenApiSource("s", fetched), "get_x") == "https://h.example/v1/x"


def test_long_words_are_cut() -> None:
    definition = one(summary="S", description="d" * 2_000).offer().tools["openapi_x_do"].definition
    assert len(definition.description) == 1_024
    assert definition.description.startswith("S\n\nddd")
    assert definition.description.endswith("d…")
    same = one(summary="S", description="S ").offer().tools["openapi_x_do"].definition
    assert same.description == "S"


TRUSTED, OTHER = "https://api.example", "https://evil.example"
SECURED: dict[str, Json] = {"security": [{"key": []}]}
SCHEMES: Json = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}}}


def _at(level: str, server: str) -> dict[str, Json]:
    """The paths of a document, and its servers, with one server at some level."""
    servers: list[Json] = [{"url": server}]
    operation: dict[str, Json] = {"operationId": "do", **SECURED}
    item: dict[str, Json] = {"get": {**operation, "servers": servers} if level == "operation" else operation}
    whole: list[Json] = servers if level == "document" else [{"url": TRUSTED}]
    paths: dict[str, Json] = {"/a": {**item, "servers": servers} if level == "path" else item}
    return {"openapi": "3.1.0", "servers": whole, "paths": paths, "components": SCHEMES}


def _keyed(level: str, server: str, url: str = "", **settings: Any) -> OpenApiSource:  # noqa: ANN401
    read = parsed_document(canonical(_at(level, server)), url=url)
    return OpenApiSource("x", read, credentials=Credentials({"*": "k-012345"}), **settings)


LEVELS = ["document", "path", "operation"]
ELSEWHERE = [
    OTHER, f"{TRUSTED}.evil.example", "http://api.example", f"{TRUSTED}:8443", "https://api.example@evil.example",
    "//evil.example", "https://{host}",
]  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("server", ELSEWHERE)
@pytest.mark.parametrize(
    "named",
    [{}, {"credential_origins": (TRUSTED,)}, {"url": f"{TRUSTED}/openapi.json"}],
    ids=["", "named", "url"],
)
def test_a_document_does_not_decide_who_gets_a_credential(
    level: str, server: str, named: dict[str, Any]
) -> None:
    why = complaint(OpenApiError, _keyed(level, server, variables={"host": "evil.example"}, **named).offer)
    assert "k-012345" not in why
    relative_or_user = server.startswith("//") or "@" in server
    assert (
        relative_or_user or "which the document alone names; allow that server (credential_origins, " in why
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("server", [OTHER, f"{OTHER}:443/v2", "https://EVIL.example/"])
@pytest.mark.parametrize(
    "named",
    [
        {"credential_origins": (TRUSTED, f"{OTHER}/any/path")},
        {"base_url": TRUSTED},
        {"url": f"{OTHER}/openapi.json"},
    ],
    ids=["named", "base", "url"],
)
def test_who_is_named_by_the_user_gets_it(level: str, server: str, named: dict[str, Any]) -> None:
    (tool,) = _keyed(level, server, **named).offer().tools.values()
    request = tool.builder.prepare({})
    assert request.headers["x-key"] == "k-012345"
    assert request.url.lower().startswith(TRUSTED if "base_url" in named else OTHER)


def test_what_needs_no_credential_may_be_called_anywhere() -> None:
    tree = _at("document", OTHER) | {"paths": {"/a": {"get": {"operationId": "do"}}}}
    made = OpenApiSource("x", parsed_document(canonical(tree)), credentials=Credentials({"*": "k-012345"}))
    (tool,) = made.offer().tools.values()
    assert "x-key" not in tool.builder.prepare({}).headers


def test_an_origin_that_is_no_url_is_refused() -> None:
    said = complaint(OpenApiError, lambda: _keyed("document", OTHER, credential_origins=("evil.example",)))
    assert said.startswith("base URL 'evil.example': expected http:// or https:// and a host")
