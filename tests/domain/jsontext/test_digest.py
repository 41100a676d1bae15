from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import chain, digest, link, linked

texts = st.lists(st.text(), max_size=4)


def test_a_digest_is_sha_256_over_utf_8() -> None:
    assert digest("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


@given(st.text(), st.text())
def test_what_is_known_already_gives_the_same_digests(before: str, part: str) -> None:
    assert link(before, digest(part)) == chain(before, part)


@given(texts, texts)
def test_a_chain_goes_on_where_it_was_left(first: list[str], rest: list[str]) -> None:
    assert chain(chain("", *first), *rest) == chain("", *first, *rest)


@given(texts, texts)
def test_two_sequences_share_a_chain_only_if_they_are_equal(one: list[str], other: list[str]) -> None:
    assert (chain("", *one) == chain("", *other)) == (one == other)


@given(st.text(), st.text())
def test_a_chain_can_be_held_in_bytes(before: str, part: str) -> None:
    first = linked(b"", before.encode())
    assert linked(first, part.encode()).hex() == chain("", before, part)


def test_where_a_part_ends_makes_a_difference() -> None:
    assert len({chain("", "ab", "c"), chain("", "a", "bc"), chain("", "abc"), chain("", "abc", "")}) == 4
