"""Exactly what toolreel uses of vcrpy, so that a new release that changes it is seen here first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vcr
from vcr.cassette import Cassette
from vcr.record_mode import RecordMode
from vcr.request import Request

from tests.adapters.cassette.test_serializer import cassette, interaction
from toolreel.cassette import _serializer as cassette_format


class Shelf:
    """A persister that keeps one cassette in memory."""

    def __init__(self, requests: list[Any], responses: list[Any]) -> None:
        self.requests = requests
        self.responses = responses
        self.path: object = None
        self.serializer: object = None

    def load_cassette(self, cassette_path: object, serializer: object) -> tuple[list[Any], list[Any]]:
        self.path, self.serializer = cassette_path, serializer
        return self.requests, self.responses

    def save_cassette(self, cassette_path: object, cassette_dict: dict[str, Any], serializer: object) -> None:
        self.path, self.serializer = cassette_path, serializer
        self.requests, self.responses = cassette_dict["requests"], cassette_dict["responses"]


RESPONSE = {"status": {"code": 200, "message": "OK"}, "headers": {"a": ["b"]}, "body": {"string": b"c"}}


def parameters(function: Callable[..., object]) -> set[str]:
    return set(inspect.signature(function).parameters)


def test_a_cassette_takes_these_parameters() -> None:
    assert {"path", "serializer", "persister", "record_mode", "match_on"} <= parameters(Cassette)
    assert {RecordMode.NONE.value, RecordMode.ALL.value} == {"none", "all"}


def test_a_request_keeps_what_it_is_given() -> None:
    request = Request("POST", "http://a/b?c=d", b"e", {"f": "g"})
    assert (request.method, request.uri, request.body) == ("POST", "http://a/b?c=d", b"e")
    assert dict(request.headers.items()) == {"f": "g"}
    assert Request("POST", "http://a", b"", {"f": ["g"]}).headers["f"] == "g"


def test_loading_asks_the_persister_and_counts_no_plays() -> None:
    shelf = Shelf([Request("GET", "http://a", b"", {})], [RESPONSE])
    loaded = Cassette.load(
        path="p", serializer="s", persister=shelf, record_mode=RecordMode.NONE, match_on=()
    )
    assert (shelf.path, shelf.serializer) == ("p", "s")
    assert loaded.record_mode == RecordMode.NONE
    assert [(request.uri, response) for request, response in loaded.data] == [("http://a", RESPONSE)]
    assert loaded.play_counts[0] == 0
    loaded.play_counts[0] += 1
    assert loaded.play_counts == {0: 1}


def test_saving_gives_the_persister_all_that_was_appended_however_alike() -> None:
    shelf = Shelf([], [])
    blank = Cassette("p", serializer="s", persister=shelf, record_mode=RecordMode.ALL, match_on=())
    for _ in range(2):
        blank.append(Request("GET", "http://a", b"", {}), RESPONSE)
    blank._save(force=True)  # pyright: ignore[reportPrivateUsage]
    assert (shelf.path, shelf.serializer) == ("p", "s")
    assert [request.uri for request in shelf.requests] == ["http://a", "http://a"]
    assert shelf.responses == [RESPONSE, RESPONSE]


def test_what_is_appended_is_a_copy() -> None:
    response = {"body": {"string": b"c"}}
    blank = Cassette("p", serializer="s", persister=Shelf([], []), record_mode=RecordMode.ALL, match_on=())
    blank.append(Request("GET", "http://a", b"", {}), response)
    response["body"]["string"] = b"changed"
    assert blank.data[0][1] == {"body": {"string": b"c"}}


def test_stock_vcrpy_reads_and_writes_the_format_once_the_serializer_is_registered(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    bodies: list[tuple[str | None, str | bytes]] = [
        ('{"messages":["a"]}', "plain"),
        ('{"messages":["a","b"]}', b"\xff"),
        (None, ""),
    ]
    old.write_text(cassette_format.serialize(cassette(*(interaction(*pair) for pair in bodies))), "utf-8")
    stock = vcr.VCR(serializer="toolreel", record_mode=RecordMode.NONE)
    stock.register_serializer("toolreel", cassette_format)
    with stock.use_cassette(str(old)) as tape:
        assert [request.body for request in tape.requests] == [
            b'{"messages":["a"]}',
            b'{"messages":["a","b"]}',
            None,
        ]
        assert [response["body"]["string"] for response in tape.responses] == [b"plain", b"\xff", b""]
        assert tape.requests[0].headers == {"accept": "*/*"}
        tape._path = str(new)
        tape._save(force=True)
    assert new.read_text("utf-8") == old.read_text("utf-8")
