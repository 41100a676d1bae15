"""Exactly what toolreel uses of vcrpy, so that a new release that changes it is seen here first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from vcr.cassette import Cassette
from vcr.record_mode import RecordMode
from vcr.request import Request


class Shelf:
    """A persister that keeps one cassette in memory."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.responses: list[Any] = []
        self.path: object = None
        self.serializer: object = None

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


def test_saving_gives_the_persister_all_that_was_appended_however_alike() -> None:
    shelf = Shelf()
    blank = Cassette("p", serializer="s", persister=shelf, record_mode=RecordMode.ALL, match_on=())
    for _ in range(2):
        blank.append(Request("GET", "http://a", b"", {}), RESPONSE)
    blank._save(force=True)  # pyright: ignore[reportPrivateUsage]
    assert (shelf.path, shelf.serializer) == ("p", "s")
    assert [request.uri for request in shelf.requests] == ["http://a", "http://a"]
    assert shelf.responses == [RESPONSE, RESPONSE]


def test_what_is_appended_is_a_copy() -> None:
    response = {"body": {"string": b"c"}}
    blank = Cassette("p", serializer="s", persister=Shelf(), record_mode=RecordMode.ALL, match_on=())
    blank.append(Request("GET", "http://a", b"", {}), response)
    response["body"]["string"] = b"changed"
    assert blank.data[0][1] == {"body": {"string": b"c"}}
