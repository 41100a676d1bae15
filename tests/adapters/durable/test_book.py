"""What the steps of a run tell, whatever its workers died at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolreel.durable import StoredStep, journal_text


def line(number: int, blobs: int = 0) -> list[str]:
    """The lines of an event, with this many blobs of its own before it."""
    own = [f'{{"blob":"{number}.{at}","base64":""}}' for at in range(blobs)]
    return [*own, f'{{"n":{number},"kind":"run_tool","fp":"{number}"}}']


@given(
    st.lists(st.integers(0, 2), max_size=12).flatmap(
        lambda blobs: st.tuples(
            st.just(blobs), st.permutations(range(1, len(blobs) + 1)), st.sets(st.integers(1, 12))
        )
    )
)
def test_events_are_in_order_up_to_the_first_that_is_missing(
    stored: tuple[list[int], list[int], set[int]],
) -> None:
    blobs, order, missing = stored
    steps = [StoredStep(heard=0, lines=line(n, blobs[n - 1])) for n in order if n not in missing]
    reached = 0
    for n in order:
        reached += n not in missing and n == reached + 1
    whole = [each for n in range(1, reached + 1) for each in line(n, blobs[n - 1])]
    assert journal_text("plan\n", steps) == "plan\n" + "".join(f"{each}\n" for each in whole)
