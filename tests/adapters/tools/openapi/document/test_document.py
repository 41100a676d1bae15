"""Documents: what is read, what is refused by name, and that nothing else is ever opened."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.samples import complaint
from tests.servers.pet_shop import PETS, Answer, open_shop
from toolreel._internal.errors import OpenApiError
from toolreel.tools.openapi._document.document import (
    MAX_DOCUMENT_BYTES,
    fetched_document,
    parsed_document,
    read_document,
    read_yaml,
)
from toolreel_core._jsontext.canonical import Json, canonical


def test_a_document_is_the_same_from_a_file_a_text_bytes_and_a_tree(tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(PETS, "utf-8")
    document = read_document(tmp_path / "pets.yaml")
    assert document.tree["info"] == {"title": "Pets and what they need", "version": "2024-01-01"}
    assert document == parsed_document(PETS) == parsed_document(PETS.encode("utf-8-sig"))
    assert document == parsed_document(canonical(document.tree)) == parsed_document(document.tree)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"swagger": "2.0"}', "Swagger 2.0 is not supported; convert the document to OpenAPI 3"),
        ('{"openapi": "4.0.0"}', "version 3.0 or 3.1; got openapi: '4.0.0'"),
        ("openapi: 3.1", "version 3.0 or 3.1; got openapi: 3.1"),
        ("{}", "version 3.0 or 3.1; it has no key 'openapi'"),
        ("[]", "not an OpenAPI document: expected an object"),
        ("", "not an OpenAPI document: expected an object"),
        ('{"a": 1, "a": 2}', "not JSON: the key 'a' stands twice"),
        ("a: 1\na: 2", "line 2, column 1: the key 'a' stands twice"),
        ("a: [", "line 2, column 1: not YAML: while parsing a flow node"),
        (b"a: \xff", "not UTF-8 at byte 3"),
        (
            " " * (MAX_DOCUMENT_BYTES + 1),
            f"larger than {MAX_DOCUMENT_BYTES} bytes; remove operations that you do not need",
        ),
    ],
)
def test_what_is_no_document_of_version_3_is_refused_by_name(text: str | bytes, why: str) -> None:
    assert why in complaint(OpenApiError, lambda: parsed_document(text))


def test_a_tree_that_is_no_json_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    tree: dict[str, Json] = {"openapi": "3.1.0", "info": {"version": float("nan")}}
    said = complaint(OpenApiError, lambda: parsed_document(tree))
    assert said == "document.info.version: nan is not JSON; use a finite number"
    missing = tmp_path / "none.yaml"
    said = complaint(OpenApiError, lambda: read_document(missing))
    assert said == f"{missing}: cannot be read: No such file or directory"
    missing.write_text("{")
    assert complaint(OpenApiError, lambda: read_document(missing)).startswith(f"{missing}: not JSON: ")


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("https://elsewhere.example/pets.yaml#/Pet", "leads out of the document; put what it means into"),
        ("other.yaml", "leads out of the document"),
        ("file:///etc/passwd", "leads out of the document"),
        ("#Pet", "is an anchor; refer to a place"),
        ("#/components/schemas/Dog", "points to nothing in the document"),
        ("#/servers/7/url", "points to nothing in the document"),
        ("#/servers/-1", "points to nothing in the document"),
        ("#/openapi/0", "points to nothing in the document"),
    ],
)
def test_a_reference_is_to_a_place_in_the_document(reference: str, why: str) -> None:
    document = parsed_document({"openapi": "3.1.0", "servers": [{"url": "/"}]})
    assert f"$ref {reference!r} {why}" in complaint(OpenApiError, lambda: document.found(reference))


def test_places_may_have_slashes_tildes_and_numbers_in_them() -> None:
    document = parsed_document({"openapi": "3.1.0", "paths": {"/a~b/{c}": [{"x": 1}]}})
    assert document.found("#/paths/~1a~0b~1%7Bc%7D/0/x") == 1
    assert document.found("#") == document.tree


def test_objects_are_opened_through_references_that_end() -> None:
    tree: dict[str, Json] = {
        "openapi": "3.1.0",
        "a": {"$ref": "#/b"},
        "b": {"x": 1},
        "c": {"$ref": "#/c"},
        "d": [1],
    }
    document = parsed_document({"openapi": "3.1.0", **tree})
    assert document.opened(document.tree["a"], "a") == {"x": 1}
    said = complaint(OpenApiError, lambda: document.opened(document.tree["c"], "c"))
    assert said == "c: its references lead from one to the next without end"
    said = complaint(OpenApiError, lambda: document.opened(document.tree["d"], "d"))
    assert said == "d: expected an object, got [1]"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no\nb: on\nc: 2024-01-01\nd: 1_000\ne: 0o7\nf: 1:30", {"a": "no", "b": "on", "c": "2024-01-01"}),
        ("a: ~\nb:\nc: null\nd: True\ne: false", {"a": None, "b": None, "c": None, "d": True, "e": False}),
        ("a: 1\nb: -2\nc: 1.5\nd: 2e3\ne: .5", {"a": 1, "b": -2, "c": 1.5, "d": 2e3, "e": 0.5}),
        (
            "a: '1'\nb: \"true\"\nc: !!str 3\nd: |\n  x\n  y\n",
            {"a": "1", "b": "true", "c": "3", "d": "x\ny\n"},
        ),
        (
            "a: !!int 7\nb: !!bool True\nc: !!null ~\nd: !!float 1e1\ne: ! 5",
            {"a": 7, "b": True, "c": None, "d": 10.0, "e": "5"},
        ),
        ("200: {x: 1}\n2.0: 1\ntrue: 2", {"200": {"x": 1}, "2.0": 1, "true": 2}),
        ("a: &k {x: 1}\nb: *k\nc: {<<: *k, y: 2}\nd: {<<: [*k, {z: 3}], x: 9}", None),
    ],
)
def test_yaml_says_what_json_can_say(text: str, value: Json) -> None:
    found = read_yaml(text)
    assert isinstance(found, dict)
    if value is None:
        assert (found["b"], found["c"], found["d"]) == ({"x": 1}, {"x": 1, "y": 2}, {"x": 9, "z": 3})
    else:
        assert isinstance(value, dict)
        assert {key: found[key] for key in value} == value


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "more than 2000000 values with its aliases unfolded"),
        ("a: &a [*a]", "line 1, column 8: the alias *a stands inside what it stands for"),
        ("[" * 200, "nested deeper than 128 levels"),
        ("? [1]\n: 2", "a list or a mapping cannot be a key"),
        ("a: {<<: 1}", "'<<' takes a mapping, or a list of mappings"),
        (
            "a: !!python/object:os.system {}",
            "line 1, column 4: the tag '!!python/object:os.system' is not allowed",
        ),
    ],
)
def test_hostile_yaml_is_refused(text: str, why: str) -> None:
    assert why in complaint(OpenApiError, lambda: read_yaml(text))


def test_a_document_is_fetched_when_that_is_asked_for_and_its_servers_are_meant_from_there() -> None:
    text = '{"openapi": "3.1.0", "servers": [{"url": "/v1"}]}'
    with open_shop(Answer(text.encode())) as shop:
        document = fetched_document(f"{shop.url}/docs/api.json")
    assert document.url == f"{shop.url}/docs/api.json"
    assert [asked.target for asked in shop.asked] == ["/docs/api.json"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(status=302, headers={"location": "http://elsewhere.example"}), "cannot be fetched: HTTP 302"),
        (Answer(b"<html>"), "not an OpenAPI document"),
        (Answer(b"x", headers={"content-encoding": "br"}), "cannot be fetched: UndecodableBody"),
    ],
)
def test_what_cannot_be_fetched_is_named(answer: Answer, why: str) -> None:
    with open_shop(answer) as shop:
        said = complaint(OpenApiError, lambda: fetched_document(f"{shop.url}/a?token=secret"))
    assert said.startswith(f"{shop.url}/a?token=REDACTED: {why}")


def test_a_document_that_a_mock_has_read_before_is_fetched_too() -> None:
    mock = httpx.MockTransport(lambda _: httpx.Response(200, json={"openapi": "3.1.0"}))
    assert fetched_document("http://shop.example/api.json", transport=mock).tree == {"openapi": "3.1.0"}
