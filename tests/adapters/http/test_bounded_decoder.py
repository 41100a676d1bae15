from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from toolreel.http import ACCEPT_ENCODING, BoundedDecoder, TooLarge, UndecodableBody


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
    "br": partial(brotli.compress, quality=1),
    "zstd": zstandard.compress,
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


@pytest.mark.parametrize(("encoding", "most"), [("gzip", 1), ("deflate", 1), ("br", 1), ("zstd", 6)])
def test_a_bomb_is_refused_while_memory_stays_near_the_limit(encoding: str, most: int) -> None:
    bomb = ENCODINGS[encoding](bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decoded(encoding, bomb, limit=100_000, chunk=len(bomb))
        assert tracemalloc.get_traced_memory()[1] < most * 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "Deflate", "br", "zstd"])
def test_a_body_that_was_cut_off_is_refused(encoding: str) -> None:
    whole = ENCODINGS[encoding](b"some text, long enough")
    for length in range(1, len(whole)):
        with pytest.raises(UndecodableBody, match="cut off"):
            decoded(encoding, whole[:length])


@pytest.mark.parametrize(
    ("encoding", "raw"),
    [
        ("gzip", b"<html>"),
        ("deflate", b"\x78\x9c<html>"),
        ("br", b"<html>"),
        ("zstd", b"<html>"),
        ("br", brotli.compress(b"one") + b"more"),
    ],
)
def test_bytes_that_do_not_fit_the_encoding_are_refused(encoding: str, raw: bytes) -> None:
    with pytest.raises(UndecodableBody, match=f"the {encoding} body is corrupt"):
        decoded(encoding, raw)


def test_raw_deflate_that_begins_almost_like_zlib_is_told_from_it() -> None:
    stored = (
        b"\x08\x01\x00\xfe\xffx" + b"\x01\x00\x00\xff\xff"
    )  # a block that is stored as it is, and the end
    assert decoded("deflate", stored) == b"x"


@pytest.mark.parametrize("chunk", [1, 7, 1_000])
def test_nothing_may_follow_the_end_of_a_compressed_body(chunk: int) -> None:
    with pytest.raises(UndecodableBody, match="goes on after its end"):
        decoded("gzip", gzip.compress(b"one") + gzip.compress(b"two"), chunk=chunk)


def test_zstd_has_one_frame_after_another() -> None:
    assert decoded("zstd", zstandard.compress(b"one") + zstandard.compress(b"two"), chunk=1_000) == b"onetwo"


def test_zstd_that_asks_for_much_memory_is_refused() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=25, write_content_size=False)
    raw = zstandard.ZstdCompressor(compression_params=wide).compress(bytes(2**25))
    with pytest.raises(UndecodableBody, match="too much memory"):
        decoded("zstd", raw, limit=2**26, chunk=len(raw))


@pytest.mark.parametrize(("encoding", "package"), [("br", "brotli"), ("zstd", "zstandard")])
def test_the_package_that_an_encoding_needs_is_named(
    encoding: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UndecodableBody, match=f"{encoding}' needs the package {package}: pip install"):
        BoundedDecoder(encoding, 10)


def test_a_brotli_that_cannot_stop_in_the_middle_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Old:
        """As it was in release 1.1."""

    monkeypatch.setattr(brotli, "Decompressor", Old)
    with pytest.raises(UndecodableBody, match=r"needs brotli 1\.2 or newer"):
        BoundedDecoder("br", 10)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "identity, gzip", "compress"])
def test_other_encodings_are_refused_with_the_header_that_avoids_them(encoding: str) -> None:
    with pytest.raises(UndecodableBody, match=ACCEPT_ENCODING):
        BoundedDecoder(encoding, 10)
