from __future__ import annotations

import pytest

from toolreel_core._conversation.message import AssistantMessage, SystemMessage, UserMessage
from toolreel_core.evals._scenarios.language_policies import (
    completion_word,
    language_of,
    localised,
    policy_text,
    select_languages,
    with_language_policy,
)


@pytest.mark.parametrize(
    ("word", "language"),
    [
        *[(word, "off") for word in ("off", "disabled", "None", " 0 ", "false")],
        *[("en", "en-US"), ("EN-us", "en-US"), ("ko", "ko-KR"), ("ja", "ja-JP"), ("yue", "yue-HK")],
        *[(word, "zh-CN") for word in ("zh-cn", "zh_Hans", "zh-hans-cn")],
        *[(word, "zh-TW") for word in ("zh_TW", "zh-hant", "zh-hant-tw")],
        *[("pt_BR", "pt-BR"), ("sw", "sw")],
    ],
)
def test_a_word_means_a_tag(word: str, language: str) -> None:
    assert language_of(word) == language


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], ["off"]),
        (["", " "], ["off"]),
        *[([word], ["off", "zh-CN", "ja-JP"]) for word in ("all", "FULL", "*", "on", "enabled", "1", "true")],
        (["ja", "off", "ja-JP"], ["ja-JP", "off"]),
        (["all", "ko"], ["off", "zh-CN", "ja-JP", "ko-KR"]),
        (["all", "!zh-*"], ["off", "ja-JP"]),
        (["!off"], ["zh-CN", "ja-JP"]),
        (["ja", "!ja"], ["off"]),
        (["ja", "!"], ["ja-JP"]),
    ],
)
def test_a_filter_means_language_policies(words: list[str], chosen: list[str]) -> None:
    assert select_languages(words) == tuple(chosen)


SYSTEM = SystemMessage("Finish with: Done.")


def test_a_conversation_is_told_in_a_language() -> None:
    messages = (SYSTEM, UserMessage("Say Done."), AssistantMessage("Done."), SystemMessage("Done."))
    assert with_language_policy(messages, "ja-JP") == (
        SystemMessage(f"Finish with: 完了しました。\n\n{policy_text('ja-JP')}"),
        UserMessage("Say 完了しました。"),
        AssistantMessage("Done."),
        SystemMessage("完了しました。"),
    )
    assert "ja-JP" in policy_text("ja-JP")


def test_a_conversation_without_a_system_message_gets_one() -> None:
    assert with_language_policy((UserMessage("hi"),), "ko-KR") == (
        SystemMessage(policy_text("ko-KR")),
        UserMessage("hi"),
    )


@pytest.mark.parametrize("language", ["", "off"])
def test_without_a_policy_nothing_changes(language: str) -> None:
    assert with_language_policy([SYSTEM], language) == (SYSTEM,)


def test_a_language_without_a_word_of_its_own_keeps_the_english_one() -> None:
    assert localised("Then: Done.", "pt-BR") == "Then: Done."
    assert completion_word("zh-CN") != completion_word("en-US")
