from __future__ import annotations

import asyncio
import warnings
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import IntEnum
from functools import partial
from pathlib import PurePosixPath
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel, Field, RootModel
from pydantic.dataclasses import dataclass as pydantic_dataclass

from tests.adapters.tools.python.test_json_types import DAY, Colour, Shelf, Span
from tests.samples import complaint, printed_under
from toolreel.tools import value_as_json
from toolreel_core._conversation import File, Image, Media, Text
from toolreel_core._jsontext import Json, canonical
from toolreel_core._tools import Envelope, ToolFailure


class Level(IntEnum):
    LOW = 1


@dataclass
class Point:
    x: int
    on: date


class Aliased(BaseModel):
    q: str = Field(alias="query")


@pydantic_dataclass
class Checked:
    q: str = Field(alias="query")


class Pictured(BaseModel):
    pictures: list[Image]


@pydantic_dataclass
class Attached:
    file: object


class Renamed(msgspec.Struct, rename="camel"):
    a_b: int


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (Point(1, DAY), {"x": 1, "on": "2026-11-22"}),
        (Span(DAY, 2), {"start": "2026-11-22", "days": 2}),
        (Shelf(label="a"), {"label": "a"}),
        (RootModel[list[int]]([1]), [1]),
        ([{"b": Aliased(query="a")}], [{"b": {"query": "a"}}]),
        (Checked(query="a"), {"query": "a"}),
        (Renamed(1), {"aB": 1}),
        (datetime(2026, 11, 22, 9, 30, tzinfo=UTC), "2026-11-22T09:30:00+00:00"),
        (time(9, 30), "09:30:00"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        ((1, [DAY]), [1, ["2026-11-22"]]),
        (deque([1, 2]), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        pytest.param(frozenset({"b", "a"}), ["a", "b"], id="a frozenset"),
        (range(3), [0, 1, 2]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        ({1: "a", None: "b", False: "c", 1.5: "d"}, {"1": "a", "null": "b", "false": "c", "1.5": "d"}),
        ({Colour.RED: 1, DAY: 2, UUID(int=1): 3}, {"red": 1, "2026-11-22": 2, str(UUID(int=1)): 3}),
        (
            Envelope(False, "t", canonical({}), ("slow",), (ToolFailure("NO", "No."),)),
            {
                "ok": False,
                "tool_name": "t",
                "data": {},
                "warnings": ["slow"],
                "errors": [{"code": "NO", "message": "No."}],
            },
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_value_is_written_as_json(value: object, written: Json) -> None:
    assert value_as_json(value) == written


PICTURE = Image.from_bytes(b"\x89PNG\r\n\x1a\n")
IN_A_MODEL = (
    "dict is not JSON serializable; "
    "return images, audio and files next to a model of pydantic, in a list or a dict"
)


async def unawaited() -> None:
    """Never awaited."""


def test_what_is_no_json_is_told_with_a_remedy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value, remedy in (
            (
                b"x",
                "bytes is not JSON serializable; "
                "return Image.from_bytes(data), File.from_bytes(data, media_type), or base64 text",
            ),
            (iter([1]), "list_iterator is not JSON serializable; return what JSON can carry"),
            ((n for n in [1]), "generator is not JSON serializable; return a list of what it yields"),
            (unawaited(), "coroutine is not JSON serializable; await it inside, or make the tool async"),
            (Pictured(pictures=[PICTURE]), IN_A_MODEL),
            (Attached(File.from_bytes(b"a", "text/plain")), IN_A_MODEL),
            (asyncio, "module is not JSON serializable; return what JSON can carry"),
        ):
            told = complaint(TypeError, partial(value_as_json, value))
            assert told == f"Object of type {remedy}"
    assert complaint(TypeError, lambda: value_as_json({(1, 2): 1})).startswith("keys must be str")


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({1: "a", "1": "b"}, "1"),
        ({True: "a", "true": "b"}, "true"),
        ({None: 1, "null": 2}, "null"),
        ({Colour.RED: 1, "red": 2}, "red"),
        ({DAY: 1, "2026-11-22": 2}, "2026-11-22"),
        ([{"a": {1.5: 1, "1.5": 2}}], "1.5"),
    ],
)
def test_two_keys_that_become_one_are_an_error(value: object, key: str) -> None:
    assert complaint(ValueError, lambda: value_as_json(value)) == (
        f"two keys of an object are {key!r} in JSON, one of them {key!r}; rename one"
    )


def test_sets_have_one_order_in_every_process() -> None:
    program = "from toolreel.tools import value_as_json; print(value_as_json(set('abcdefg')))"
    assert {printed_under(seed, program) for seed in range(2)} == {str(list("abcdefg"))}


def test_labels_stand_for_images_audio_and_files_wherever_they_are() -> None:
    image, file = PICTURE, File.from_url("http://a/b")
    parts: list[Media] = []
    value = {"a": [image, {"b": file}], "c": Text("hi"), "d": image}
    label = "[image/png, 8 bytes, sha256:4c4b6a3b]"
    assert value_as_json(value, parts) == {"a": [label, {"b": "[file, http://a/b]"}], "c": "hi", "d": label}
    assert parts == [image, file, image]
    assert value_as_json(image) == label
