"""Parameters and bodies as they are written, style by style (OpenAPI 3.1, 4.8.12.4)."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from tests.servers.pet_shop import document
from toolreel._internal.errors import OpenApiError
from toolreel.tools._call_context import ToolError
from toolreel.tools.openapi._document.document import parsed_document
from toolreel.tools.openapi._request.body_encoding import body_of
from toolreel.tools.openapi._request.parameters import (
    STYLES,
    Parameter,
    ParameterStyle,
    expanded_path,
    header_text,
    query_pairs,
)
from toolreel_core._jsontext.canonical import Json

COLOURS: Json = ["blue", "black", "brown"]
RGB: Json = {"R": 100, "G": 200}


def in_path(style: ParameterStyle, explode: bool, value: Json, *, as_json: bool = False) -> str:
    parameter = Parameter("color", "path", style, explode, as_json=as_json)
    return expanded_path("/a/{color}/b", {"color": (parameter, value)})[3:-2]


def in_query(
    style: ParameterStyle, explode: bool, value: Json, *, as_json: bool = False, reserved: bool = False
) -> str:
    return "&".join(
        query_pairs(Parameter("color", "query", style, explode, as_json=as_json, reserved=reserved), value)
    )


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, COLOURS, "blue,black,brown"),
        ("simple", False, RGB, "R,100,G,200"),
        ("simple", True, RGB, "R=100,G=200"),
        ("simple", False, True, "true"),
        ("simple", False, ["a,b", "c"], "a%2Cb,c"),
        ("label", False, "blue", ".blue"),
        ("label", False, COLOURS, ".blue,black,brown"),
        ("label", True, COLOURS, ".blue.black.brown"),
        ("label", True, RGB, ".R=100.G=200"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, COLOURS, ";color=blue,black,brown"),
        ("matrix", True, COLOURS, ";color=blue;color=black;color=brown"),
        ("matrix", False, RGB, ";color=R,100,G,200"),
        ("matrix", True, RGB, ";R=100;G=200"),
    ],
)
def test_a_value_in_a_path(style: ParameterStyle, explode: bool, value: Json, text: str) -> None:
    assert in_path(style, explode, value) == text


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("form", True, "blue", "color=blue"),
        ("form", True, "", "color="),
        ("form", True, None, ""),
        ("form", True, [], ""),
        ("form", False, [], ""),
        ("form", True, COLOURS, "color=blue&color=black&color=brown"),
        ("form", False, COLOURS, "color=blue,black,brown"),
        ("form", True, RGB, "R=100&G=200"),
        ("form", False, RGB, "color=R,100,G,200"),
        ("form", True, ["a&b", None, "c d"], "color=a%26b&color=c%20d"),
        ("form", True, [{"x": 1}], "color=%7B%22x%22%3A1%7D"),
        ("spaceDelimited", False, COLOURS, "color=blue%20black%20brown"),
        ("spaceDelimited", False, RGB, "color=R%20100%20G%20200"),
        ("pipeDelimited", False, COLOURS, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", True, COLOURS, "color=blue&color=black&color=brown"),
        ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200"),
        (
            "deepObject",
            False,
            {"a": {"b": [1, 2]}, "c": None},
            "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2",
        ),
        ("deepObject", False, COLOURS, "color=blue&color=black&color=brown"),
        ("deepObject", False, "blue", "color=blue"),
    ],
)
def test_a_value_in_a_query(style: ParameterStyle, explode: bool, value: Json, text: str) -> None:
    assert in_query(style, explode, value) == text


def test_json_and_reserved_characters() -> None:
    assert in_query("form", True, {"a": [1]}, as_json=True) == "color=%7B%22a%22%3A%5B1%5D%7D"
    assert in_path("simple", False, {"a": "/"}, as_json=True) == "%7B%22a%22%3A%22%2F%22%7D"
    assert in_query("form", True, "a/b?c:d&e=f#g+h", reserved=True) == "color=a/b?c:d%26e%3Df%23g%2Bh"


@pytest.mark.parametrize(
    ("value", "text"), [(["a", "b"], "a,b"), ({"a": 1}, "a,1"), (" x ", "x"), (None, "")]
)
def test_a_value_in_a_header(value: Json, text: str) -> None:
    assert header_text(Parameter("X", "header", "simple", False), value) == text
    assert header_text(Parameter("X", "header", "simple", True), {"a": 1}) == "a=1"
    assert header_text(Parameter("X", "header", "simple", True, as_json=True), {"a": 1}) == '{"a":1}'


@pytest.mark.parametrize("value", ["", [], {}, None])
@pytest.mark.parametrize("style", STYLES["path"][:1])
def test_an_empty_part_of_a_path_is_refused(style: ParameterStyle, value: Json) -> None:
    said = complaint(ToolError, lambda: in_path(style, False, value))
    assert said == "color is empty; it is a part of the path, so it needs a value."


@given(
    st.recursive(
        st.text(st.characters(exclude_categories=["Cs"])) | st.integers(),
        lambda x: st.lists(x) | st.dictionaries(st.text("ab/.?#&="), x),
    ),
    st.sampled_from(STYLES["path"]),
    st.booleans(),
)
def test_whatever_the_value_the_path_has_as_many_segments_and_the_query_does_not_begin(
    value: Json, style: ParameterStyle, explode: bool
) -> None:
    try:
        text = in_path(style, explode, value)
    except ToolError:
        return
    assert not set(text) & {"/", "?", "#", "\\", "\r", "\n", " "}
    assert text not in {".", "..", ""}


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(STYLES["query"]),
    st.booleans(),
    st.booleans(),
)
def test_whatever_the_value_a_query_has_one_parameter(
    value: str, style: ParameterStyle, explode: bool, reserved: bool
) -> None:
    text = in_query(style, explode, value, reserved=reserved)
    assert (text.count("="), text.count("&"), text.count("#")) == (1, 0, 0)
    assert text.isascii()
    assert text.isprintable()


def test_every_style_has_its_place() -> None:
    assert {style for styles in STYLES.values() for style in styles} == set(get_args(ParameterStyle))


def body(schema: Json, media_type: str, value: Json, **said: Json) -> tuple[bytes, str]:
    made = body_of(document(), {"content": {media_type: {"schema": schema, **said}}})
    content, written_as = made.encode(value)
    return content, written_as


@pytest.mark.parametrize(
    ("media_type", "value", "written"),
    [
        ("application/json", [1], (b"[1]", "application/json")),
        ("application/merge-patch+json", None, (b"null", "application/merge-patch+json")),
        ("*/*", {}, (b"{}", "application/json")),
        ("text/plain", "hé", ("hé".encode(), "text/plain; charset=utf-8")),
        ("text/plain", 3, (b"3", "text/plain; charset=utf-8")),
        (
            "application/x-www-form-urlencoded",
            {"a": 1, "b": ["x", "y"], "c": {"d": True}, "e": None},
            (b"a=1&b=x&b=y&c=%7B%22d%22%3Atrue%7D", "application/x-www-form-urlencoded"),
        ),
    ],
)
def test_a_body_is_written_as_its_media_type(
    media_type: str, value: Json, written: tuple[bytes, str]
) -> None:
    assert body(True, media_type, value) == written


def test_fields_of_a_form_are_written_as_the_document_says() -> None:
    encoding: Json = {
        "a": {"style": "deepObject"},
        "b": {"explode": False},
        "c": {"contentType": "application/json"},
    }
    value: Json = {"a": {"x": 1}, "b": [1, 2], "c": [3]}
    content, _ = body({}, "application/x-www-form-urlencoded", value, encoding=encoding)
    assert content == b"a%5Bx%5D=1&b=1,2&c=%5B3%5D"


def test_a_part_may_be_a_list_of_itself() -> None:
    tree: Json = {
        "openapi": "3.1.0",
        "a": {"items": {"$ref": "#/a"}},
        "b": {"contentMediaType": "application/octet-stream"},
    }
    assert isinstance(tree, dict)
    schema: Json = {"properties": {"a": {"$ref": "#/a"}, "b": {"$ref": "#/b"}, "c": True}}
    made = body_of(parsed_document(tree), {"content": {"multipart/form-data": {"schema": schema}}})
    assert made.files == {"b"}


def test_parts_cannot_break_out_of_a_multipart_body() -> None:
    schema: Json = {"properties": {"f": {"type": "array", "items": {"format": "binary"}}}}
    value: Json = {"f": ["one", "two"], 'a"\r\nx: y': "--part", "o": {"k": 1}}
    content, media_type = body(schema, "multipart/form-data", value)
    boundary = media_type.partition("boundary=")[2]
    parts = content.decode().split(f"--{boundary}")
    assert len(parts) == 6
    assert 'name="f"; filename="f"\r\ncontent-type: application/octet-stream\r\n\r\none\r\n' in parts[1]
    assert 'name="a%22%0D%0Ax: y"\r\n\r\n--part\r\n' in parts[3]
    assert 'name="o"\r\ncontent-type: application/json\r\n\r\n{"k":1}\r\n' in parts[4]


def test_a_form_takes_an_object_and_what_cannot_be_written_is_refused_by_name() -> None:
    said = complaint(ToolError, lambda: body({}, "multipart/form-data", [1]))
    assert said == "body: expected an object, since it is sent as multipart/form-data."
    said = complaint(OpenApiError, lambda: body({}, "application/xml", ""))
    assert said.startswith("it takes a body of application/xml; only JSON, form fields, multipart")
    said = complaint(OpenApiError, lambda: body_of(document(), {"content": {}}))
    assert said == "requestBody.content: expected an object with a media type"


def test_json_goes_before_forms_and_forms_before_text() -> None:
    content: Json = {
        "text/plain": {},
        "application/x-www-form-urlencoded": {},
        "application/problem+json": {},
    }
    assert (
        body_of(document(), {"content": content, "required": True}).media_type == "application/problem+json"
    )
