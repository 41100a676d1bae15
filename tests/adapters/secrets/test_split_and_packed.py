"""However a server writes a key, packs it or splits it over frames: it is found."""

from __future__ import annotations

import base64
import gzip
import json
import string
import zlib
from collections.abc import Callable, Mapping
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.secrets.stream_forms import FORMS
from toolreel._secrets import (
    RunningBodyScrub,
    body_texts,
    joined_stream_texts,
    leaks_with_places,
    scrubbed_body,
    texts_in_journal_line,
)

SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda key: base64.b64encode(f"Bearer {key}!".encode()).decode(),
    "url": lambda key: quote(f"?api-key={key}&", safe=""),
    "JSON": lambda key: "".join(f"\\u{ord(character):04x}" for character in key),
    "hex": lambda key: key.encode().hex(),
}
PACKINGS: Mapping[str, Callable[[str], bytes]] = {
    "UTF-8": str.encode,
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 BE": lambda text: text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "zlib": lambda text: zlib.compress(text.encode()),
    "deflate": lambda text: zlib.compress(text.encode(), wbits=-15),
    "gzip of gzip": lambda text: gzip.compress(gzip.compress(text.encode())),
    "two members": lambda text: gzip.compress(b" ") + gzip.compress(text.encode()),
    "cut gzip": lambda text: gzip.compress(text.encode())[:-8],
    "zlib of UTF-16": lambda text: zlib.compress(text.encode("utf-16")),
}
keys = st.text(string.ascii_letters + string.digits + "_+/=.~", min_size=8, max_size=40)
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=[*FORMS])


def written(spelling: str, key: str) -> str:
    """The key in a text, which is JSON if the key is escaped as in JSON."""
    text = SPELLINGS[spelling](key)
    return f'{{"echo":"{text}"}}' if spelling == "JSON" else f"it is {text} ."


def cut(text: str, at: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % len(text) for place in at)})
    return [text[start:end] for start, end in pairwise(ends)]


def found(body: bytes, key: str) -> bool:
    return any(
        leak.kind == "value of K" for _, leak in leaks_with_places(body_texts("body", body), {"K": key})
    )


@each_form
@given(
    key=keys,
    spelling=st.sampled_from([*SPELLINGS]),
    packing=st.sampled_from([*PACKINGS]),
    at=st.lists(st.integers(1, 999), min_size=1),
)
def test_a_key_is_found_in_whatever_form_it_is_streamed(
    form: Callable[[list[str]], str], key: str, spelling: str, packing: str, at: list[int]
) -> None:
    assert found(PACKINGS[packing](form(cut(written(spelling, key), at))), key)


@each_form
@given(
    key=keys,
    spelling=st.sampled_from([*{*SPELLINGS} - {"JSON"}]),
    at=st.lists(st.integers(1, 999), min_size=1),
    size=st.integers(1, 99),
)
def test_and_it_is_masked_in_each_body_as_it_comes(
    form: Callable[[list[str]], str], key: str, spelling: str, at: list[int], size: int
) -> None:
    known = {"K": key}
    body, clean = form(cut(written(spelling, key), at)), form(["it is ", "[value of K] ."])
    whole, running = scrubbed_body(body, known), RunningBodyScrub(known)
    arriving = [running.feed(body[start : start + size]) for start in range(0, len(body), size)]
    assert "".join([*arriving, running.close()]) == whole
    assert not found(whole.encode(), key)
    assert scrubbed_body(clean, known) == clean


@each_form
@given(
    key=keys,
    spelling=st.sampled_from([*SPELLINGS]),
    wide=st.booleans(),
    at=st.lists(st.integers(1, 999), min_size=1),
)
def test_and_so_it_is_in_the_line_of_a_journal(
    form: Callable[[list[str]], str], key: str, spelling: str, wide: bool, at: list[int]
) -> None:
    body = form(cut(written(spelling, key), at))
    read = body.encode("utf-16").decode("utf-8", "replace") if wide else body  # as an endpoint reads it
    line = json.dumps({"event": {"body": read}})
    assert any(
        leak.kind == "value of K" for _, leak in leaks_with_places(texts_in_journal_line(line), {"K": key})
    )


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=[*PACKINGS])
@given(key=keys, spelling=st.sampled_from([*SPELLINGS]))
def test_a_key_is_found_in_a_body_however_it_is_packed(
    packing: Callable[[str], bytes], key: str, spelling: str
) -> None:
    assert found(packing(json.dumps({"error": {"message": written(spelling, key)}})), key)


@given(key=keys, at=st.lists(st.integers(1, 999), min_size=1), key_of=st.sampled_from(["text", "content"]))
def test_a_key_over_the_parts_of_a_reply_is_found_and_masked(key: str, at: list[int], key_of: str) -> None:
    parts = [{"type": "text", key_of: piece} for piece in cut(f"It is {key}.", at)]
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": parts}}]}, indent=1)
    assert found(body.encode(), key)
    assert not found(scrubbed_body(body, {"K": key}).encode(), key)


@given(body=st.binary(max_size=400), key=keys)
def test_nothing_is_found_where_nothing_is_whatever_the_bytes(body: bytes, key: str) -> None:
    assert not found(body, f"{key}!not in here!")


def test_texts_of_other_names_and_calls_are_kept_apart() -> None:
    calls = FORMS["interleaved calls"](["a", "b", "c"])
    assert "abc" in joined_stream_texts(calls)
    assert joined_stream_texts(FORMS["Ollama"](["sk", "sk", "pw"])) == ("assistant", "skskpw")


@pytest.mark.parametrize("text", ["", '{"choices":[]}', "one line", "two\nlines", "[1,\n2]", '"a"\n"b"'])
def test_what_has_no_frames_is_not_put_together(text: str) -> None:
    assert joined_stream_texts(text) == ()
