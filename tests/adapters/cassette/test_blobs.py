"""Images, audio and files in a cassette: each once, at its end."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.adapters.cassette.test_serializer import cassette, exchange, stored
from tests.adapters.secrets.planted import KINDS
from tests.samples import complaint, worked
from toolreel import Image
from toolreel._internal import CassetteError
from toolreel._secrets import body_texts, leaks, leaks_with_places
from toolreel.cassette import (
    drift_text,
    export_cassette,
    import_cassette,
    leaks_in_exchanges,
    parse_cassette,
    serialize,
)
from toolreel_core._conversation import Blob, Message, Part, user_message, wire_tree
from toolreel_core._jsontext import Json, canonical

CAT = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BASE64 = b64encode(CAT).decode()


def body(*messages: Message) -> str:
    return canonical({"model": "m", "messages": [wire_tree(message) for message in messages]})


LOOK = user_message(["Look:", Image.from_bytes(CAT)])
TEXT = cassette(exchange(body(LOOK)), exchange(body(LOOK, user_message("And?"), LOOK)))


def test_a_blob_stands_once_behind_the_conversation_that_mentions_it() -> None:
    digest = Blob.of(CAT).digest
    lines = [line.strip() for line in TEXT.splitlines()]
    assert lines.count(f"url: !blob data:image/png;base64,{digest}") == 2  # the third is in an alias
    assert "".join(lines).count(BASE64) == 1
    assert lines.index("blobs:") > lines.index("- type: text")
    assert f"{digest}: !!binary |" in lines
    assert [len(request) for request, _ in stored(TEXT)] == [
        len(body(LOOK)),
        len(body(LOOK, user_message("And?"), LOOK)),
    ]


@given(st.lists(st.lists(strategies.parts, min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_mix_of_parts_comes_back(said: list[list[Part]]) -> None:
    messages = [user_message(parts) for parts in said]
    bodies = [body(*messages[:count]) for count in range(1, len(messages) + 1)]
    text = cassette(*map(exchange, bodies))
    assert [request.decode() for request, _ in stored(text)] == bodies
    assert serialize(*parse_cassette(text)) == text


@pytest.mark.parametrize(
    "url",
    [
        f"data:image/png;base64,{BASE64[:200]}",  # short
        f"data:image/png;base64,{BASE64}?",  # no Base64
        f"data:image/png;base64,{BASE64[:-4]}AB==",  # bits that belong to no byte
        f"data:image/png,{'x' * 300}",
        f"Here it is: data:image/png;base64,{BASE64}",
    ],
)
def test_what_is_no_long_base64_stands_where_it_is(url: str) -> None:
    content: list[Json] = [{"type": "image_url", "image_url": {"url": url}}]
    request = canonical({"messages": [{"role": "user", "content": content}]})
    text = cassette(exchange(request))
    assert "blob" not in text
    assert stored(text)[0][0] == request.encode()


def test_a_text_that_reads_like_a_mention_is_a_text() -> None:
    text = f"data:image/png;base64,{Blob.of(CAT).digest}"
    request = body(user_message([text, Image.from_bytes(CAT)]), user_message(text))
    assert stored(cassette(exchange(request))) == [(request.encode(), b"")]


@pytest.mark.parametrize(("was", "now", "why"), worked("a damaged blob", "cassettes"))
def test_a_damaged_blob_is_an_error(was: str, now: str, why: str) -> None:
    changed = TEXT.replace(was, now, 1)
    assert changed != TEXT
    assert complaint(CassetteError, lambda: parse_cassette(changed)).startswith(why.partition("seed")[0])


def test_stock_vcrpy_gets_whole_bodies_and_gives_them_back(tmp_path: Path) -> None:
    ours, stock, again = tmp_path / "ours.yaml", tmp_path / "stock.yaml", tmp_path / "again.yaml"
    ours.write_text(TEXT, "utf-8")
    export_cassette(ours, stock)
    assert "!blob" not in stock.read_text("utf-8")
    import_cassette(stock, again)
    assert stored(again.read_text("utf-8")) == stored(TEXT)
    assert again.read_text("utf-8").count("!blob ") == 2


def test_a_known_key_in_a_picture_is_not_written() -> None:
    leaking = user_message([Image.from_bytes(CAT + b"3f2a90bc71d4")])
    exchanges = [exchange(body(leaking))]
    found = leaks_in_exchanges(exchanges, {"MY_KEY": "3f2a90bc71d4"})
    assert [leak.kind for _, _, leak in found] == ["value of MY_KEY"]
    assert list(leaks_in_exchanges(exchanges, {"MY_KEY": "another-3f2a90"})) == []


def test_patterns_of_keys_are_not_looked_for_in_megabytes_of_base64() -> None:
    planted = KINDS["an AWS key id"].secret
    assert leaks(planted, {}) != ()
    assert leaks(f"data:image/png;base64,{planted}", {}) == ()
    assert leaks(f"data:image/png;base64,{planted} ", {}) != ()
    sound = canonical({"a": {"data": planted, "format": "wav"}}).encode()
    assert list(leaks_with_places(body_texts("body", sound), {})) == []


def test_a_request_that_differs_is_told_with_digests() -> None:
    other = Image.from_bytes(CAT + b"!")
    told = drift_text(body(LOOK).encode(), body(user_message(["Look:", other])).encode())
    assert f'recorded: "data:image/png;base64,{Blob.of(CAT).digest}"' in told
    assert "iVBOR" not in told
