"""The questions themselves."""

from __future__ import annotations

import pytest

from tests.probes import QUESTIONS, probed, select_questions
from tests.servers.quirk_profiles import PROFILES
from toolreel_core._errors import ConfigError


def test_each_question_rests_only_on_questions_before_it() -> None:
    names = [each.name for each in QUESTIONS]
    assert len(names) == len(set(names))
    for number, each in enumerate(QUESTIONS):
        assert set(each.rests_on) <= set(names[:number])


def test_questions_are_selected_by_name_and_by_group() -> None:
    assert [each.name for each in select_questions(("responses",))] == ["plain", "responses"]
    streams = {each.name for each in select_questions(("streams",))}
    assert streams > {"stream", "stream_plain", "stream_tools", "tools", "messages"}
    assert not streams & {"images", "json_schema", "call_ids"}
    assert select_questions() == QUESTIONS


def test_a_misspelt_question_is_corrected() -> None:
    with pytest.raises(ConfigError, match="did you mean 'two_systems'"):
        select_questions(("two_system",))


@pytest.mark.parametrize("name", ["deepseek", "mistral", "bedrock", "llama_cpp"])
def test_a_few_questions_find_what_all_of_them_find(name: str) -> None:
    whole = probed(PROFILES[name], repeat=1).known
    for each in ("user_after_tool", "tool_choice_required", "images"):
        part = probed(PROFILES[name], questions=select_questions((each,)), repeat=1).known
        assert part.words[each] == whole.words[each]


def test_every_question_is_asked_of_some_profile() -> None:
    names = ("picky", "strict_thinker", "mistral", "anthropic", "openai_reasoning")
    asked = {each.question for name in names for each in probed(PROFILES[name], repeat=1).tries}
    assert asked == {each.name for each in QUESTIONS}
