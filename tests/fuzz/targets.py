"""What is fuzzed: each target checks one input, and raises where something does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.fuzz import arguments, forms, replies, seeds, streams, texts
from tests.fuzz.draw import fragment
from tests.fuzz.fragments import FRAGMENTS


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to fuzz."""

    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    """Inputs to begin with."""


TARGETS: dict[str, Target] = {
    "arguments": Target(arguments.check, seeds.of_arguments),
    "forms": Target(forms.check, seeds.of_forms),
    "replies": Target(replies.check, seeds.of_replies),
    "streams": Target(streams.check, seeds.of_streams),
    "texts": Target(texts.check, seeds.of_texts),
}
"""The targets, by name."""

_FRAGMENTS = st.integers(0, len(FRAGMENTS) - 1).map(fragment)


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Random inputs: choices and what follows of them, or a seed with something put in."""
    pieces = st.lists(_FRAGMENTS | st.text(max_size=3).map(_encoded) | st.binary(max_size=3), max_size=12)
    made = st.tuples(st.binary(max_size=12), pieces.map(b"".join)).map(b"".join)
    known = st.sampled_from([*target.seeds()])
    return made | st.builds(_spliced, known, made, st.integers(0, 1 << 12), st.integers(0, 8))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _spliced(seed: bytes, piece: bytes, place: int, lost: int) -> bytes:
    at = place % (len(seed) + 1)
    return seed[:at] + piece + seed[at + lost :]
