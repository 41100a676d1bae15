"""What a probe takes, before it is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.probes import probed
from tests.servers.quirky_provider import Profile
from toolreel_core._jsontext import canonical
from toolreel_core._probe import Cost, Probing, estimate, select_questions
from toolreel_core._settings import bytes_per_4


def test_the_estimate_is_near_to_what_a_good_server_is_asked() -> None:
    probing, asked = Probing("scripted"), list[str]()
    cost = estimate(probing)
    done = probed(Profile(), repeat=3, before=lambda ask: asked.append(canonical(ask.body)))
    assert abs(cost.requests - done.sent) <= 6
    assert sum(map(bytes_per_4, asked)) == pytest.approx(cost.prompt_tokens, rel=0.25)


def test_what_was_answered_is_not_counted_again() -> None:
    done = probed(Profile(), repeat=1)
    assert estimate(done) == Cost(0, 0, 0)
    left = replace(done, tries=done.tries[:-1])
    assert estimate(left).requests == 1


def test_more_repetitions_take_more_requests() -> None:
    few, many = (estimate(Probing("m", select_questions(("temperature",)), repeat)) for repeat in (1, 3))
    assert (few.requests, many.requests) == (6, 12)
