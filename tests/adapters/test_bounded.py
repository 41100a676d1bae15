from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_adapters.bounded import ACCEPT_ENCODING, BoundedDecoder, TooLarge, UndecodableBody


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    " GZip ": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
}


def decoded(encoding: str, raw: bytes, *, limit: int = 10_000, chunk: int = 7) -> bytes:
    decoder = BoundedDecoder(encoding, limit)
    for start in range(0, len(raw), chunk):
        decoder.feed(raw[start : start + chunk])
    return decoder.finish()


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(body=st.binary(max_size=2_000), chunk=st.integers(1, 50))
def test_a_body_comes_out_as_it_went_in_however_it_is_cut(encoding: str, body: bytes, chunk: int) -> None:
    assert decoded(encoding, ENCODINGS[encoding](body), limit=len(body), chunk=chunk) == body


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_one_byte_above_the_limit_is_too_large(encoding: str) -> None:
    raw = ENCODINGS[encoding](b"x" * 101)
    with pytest.raises(TooLarge, match="larger than 100 bytes"):
        decoded(encoding, raw, limit=100, chunk=len(raw))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_refused_while_memory_stays_near_the_limit(encoding: str) -> None:
    bomb = ENCODINGS[encoding](bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decoded(encoding, bomb, limit=100_000, chunk=len(bomb))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "Deflate"])
def test_a_body_that_was_cut_off_is_refused(encoding: str) -> None:
    whole = ENCODINGS[encoding](b"some text, long enough")
    for length in range(1, len(whole)):
        with pytest.raises(UndecodableBody, match="cut off"):
            decoded(encoding, whole[:length])


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
def test_no_bytes_at_all_are_an_empty_body(encoding: str) -> None:
    decoder = BoundedDecoder(encoding, 0)
    decoder.feed(b"")
    assert decoder.finish() == b""


@pytest.mark.parametrize(("encoding", "raw"), [("gzip", b"<html>"), ("deflate", b"\x78\x9c<html>")])
def test_bytes_that_do_not_fit_the_encoding_are_refused(encoding: str, raw: bytes) -> None:
    with pytest.raises(UndecodableBody, match=f"the {encoding} body is corrupt"):
        decoded(encoding, raw)


def test_raw_deflate_that_begins_almost_like_zlib_is_told_from_it() -> None:
    stored = (
        b"\x08\x01\x00\xfe\xffx" + b"\x01\x00\x00\xff\xff"
    )  # a block that is stored as it is, and the end
    assert decoded("deflate", stored) == b"x"


def test_nothing_may_follow_the_end_of_a_compressed_body() -> None:
    with pytest.raises(UndecodableBody, match="goes on after its end"):
        decoded("gzip", gzip.compress(b"one") + gzip.compress(b"two"), chunk=1_000)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "identity, gzip", "compress"])
def test_other_encodings_are_refused_with_the_header_that_avoids_them(encoding: str) -> None:
    with pytest.raises(UndecodableBody, match=ACCEPT_ENCODING):
        BoundedDecoder(encoding, 10)


def test_a_negative_limit_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        BoundedDecoder("gzip", -1)
