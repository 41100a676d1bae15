from __future__ import annotations

import copy
import pickle
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from toolreel._driver import OutcomeError, Ports, Run, RunUsage, run
from toolreel.testing import Lost, ScriptedEndpoint, saying
from toolreel_core._conversation import AssistantMessage, UserMessage
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan
from toolreel_core._settings import LoopConfig

HOSTILE = '<script>alert(1)</script>\x1b[31m pay \u202e001\n"quoted" & done ' + "x" * 5_000


def html_of(ended: Run) -> str:
    """What a notebook shows."""
    return str(cast("Any", ended)._repr_html_())


def answered(text: str, **usage: Json) -> Run:
    body = {**saying(text), "usage": usage}
    return run(Plan.of(model="<m>", messages="hi"), ScriptedEndpoint([body]))


def test_a_run_has_its_text_its_usage_and_its_messages() -> None:
    ended = answered("Hi.", prompt_tokens=7, completion_tokens=3, cost=0.25)
    assert (ended.text, ended.usage, ended.usage.total_tokens, ended.cost) == (
        "Hi.",
        RunUsage(7, 3),
        10,
        0.25,
    )
    assert ended.messages == (UserMessage("hi"), AssistantMessage("Hi."))
    assert ended.messages_as_dicts() == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hi."},
    ]
    assert ended.raise_for_outcome() is ended


def test_the_usage_has_the_finer_counts() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 1},
    }
    usage = answered("Hi.", prompt_tokens=7, completion_tokens=6, **details).usage
    assert usage == RunUsage(7, 6, 5, 4, 2, 1)
    assert usage.total_tokens == 13


@pytest.mark.parametrize("text", ["Hi.", HOSTILE, "\u200b"])
def test_a_run_is_shown_in_one_short_line_and_in_a_table_that_runs_nothing(text: str) -> None:
    ended = answered(text)
    shown, table = repr(ended), html_of(ended)
    assert len(shown) < 200
    assert shown.isprintable()
    assert "<script" not in table, "the scripts of the page are text in a frame of its own"
    assert "\x1b" not in table
    assert "\u202e" not in table
    assert "&lt;m&gt;" in table
    ElementTree.fromstring(table)  # noqa: S314 - our own


def test_a_run_without_an_answer_raises_where_it_is_asked() -> None:
    lost = ScriptedEndpoint([Lost("status", "HTTP 401: no", 401)])
    failed = run(Plan.of(model="m", messages="hi", config=LoopConfig(max_tries=1)), lost)
    assert failed.text == ""
    with pytest.raises(
        OutcomeError, match="no; the server did not accept the key, or wants one: name"
    ) as raised:
        failed.raise_for_outcome()
    assert raised.value.outcome == failed.outcome
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own
    assert (str(again), again.outcome) == (str(raised.value), failed.outcome)
    assert pickle.loads(pickle.dumps(failed)) == failed  # noqa: S301 - our own
    assert failed == copy.deepcopy(failed)


@pytest.mark.parametrize("name", ["address", "endpoint"])
@pytest.mark.parametrize("value", ["here", None, ("here", 80), "itself"])
def test_an_endpoint_of_ones_own_may_have_names_that_ours_have(name: str, value: object) -> None:
    endpoint = ScriptedEndpoint([saying("Hi.")])
    setattr(endpoint, name, endpoint if value == "itself" else value)
    assert run(Plan.of(model="m", messages="Hi."), Ports(endpoint)).completed
