from __future__ import annotations

import pytest

from toolreel_core._jsontext import NOTHING, Json
from toolreel_core._replies import Reply, Served, Usage, served_in, usage_in


def test_a_reply_of_which_nothing_is_known_is_empty() -> None:
    assert Reply() == Reply((), "", "", "unknown", None, (), Usage(), Served(), NOTHING)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, 4)),
        ({"prompt_tokens": 3}, Usage(3, 0)),
        ({"prompt_tokens": 3.0, "completion_tokens": 4.0}, Usage(3, 4)),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(3, 4)),
        ({"prompt_tokens": 0, "input_tokens": 3}, Usage(3, 0)),
        ({"completion_tokens_details": {"reasoning_tokens": 2}}, Usage(reasoning_tokens=2)),
        ({"output_tokens_details": {"reasoning_tokens": 2}}, Usage(reasoning_tokens=2)),
        ({"reasoning_tokens": 2}, Usage(reasoning_tokens=2)),
        ({"prompt_tokens_details": {"cached_tokens": 2}}, Usage(cached_tokens=2)),
        ({"input_tokens_details": {"cached_tokens": 2}}, Usage(cached_tokens=2)),
        ({"prompt_cache_hit_tokens": 2}, Usage(cached_tokens=2)),
        ({"cache_read_input_tokens": 2}, Usage(cached_tokens=2)),
        ({"cached_tokens": 2}, Usage(cached_tokens=2)),
        ({"prompt_tokens_details": {"audio_tokens": 2}}, Usage(prompt_audio_tokens=2)),
        ({"completion_tokens_details": {"audio_tokens": 2}}, Usage(completion_audio_tokens=2)),
        ({"prompt_tokens_details": {}, "prompt_cache_hit_tokens": 2}, Usage(cached_tokens=2)),
        ({"cost": 0}, Usage(cost=0.0)),
        ({"prompt_tokens_details": None, "completion_tokens_details": 7}, Usage()),
        ({"cost": 0.25}, Usage(cost=0.25)),
        ({"cost": 1_000_000_000}, Usage(cost=1e9)),
        ({"cost": 1_000_000_001}, Usage()),
        ({"cost": float("nan")}, Usage()),
        ({"cost": -1}, Usage()),
        ({"cost": True}, Usage()),
        ({"cost": "1"}, Usage()),
        ({"prompt_tokens": "3", "completion_tokens": None}, Usage()),
        ({"prompt_tokens": True, "completion_tokens": 1.5}, Usage()),
        ({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, Usage()),
        ({"prompt_tokens": -3, "completion_tokens": 2**53}, Usage()),
        ([3, 4], Usage()),
        (None, Usage()),
    ],
)
def test_usage_counts_what_can_be_counted(usage: Json, counted: Usage) -> None:
    assert repr(usage_in({"usage": usage})) == repr(counted)


def test_counts_beside_the_message_are_not_looked_for_where_there_are_none() -> None:
    assert usage_in({"usage": {"prompt_tokens": 3}}) == Usage(3)
    assert usage_in({"usage": None}) == usage_in({}) == Usage()


def test_ollama_counts_beside_the_message() -> None:
    assert usage_in({"prompt_eval_count": 3, "eval_count": 4}) == Usage(3, 4)


def test_who_has_answered_is_told_as_far_as_it_is_said() -> None:
    body: dict[str, Json] = {"id": "gen-1", "model": "m", "provider": "Z", "system_fingerprint": "fp"}
    assert served_in(body) == Served("m", "Z", "fp", "gen-1")
    assert served_in({"request_id": "r"}) == Served(request_id="r")
    assert served_in({"error": {"metadata": {"provider_name": "Z"}}}) == Served(provider="Z")


@pytest.mark.parametrize("said", [None, 7, {"name": "m"}])
def test_what_is_not_text_was_not_said(said: Json) -> None:
    assert served_in({"id": said, "model": said, "provider": said, "system_fingerprint": said}) == Served()
    assert served_in({"error": said}) == Served()
