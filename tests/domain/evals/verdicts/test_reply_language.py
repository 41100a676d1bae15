from __future__ import annotations

import pytest

from toolreel_core.evals._scenarios.language_policies import completion_word
from toolreel_core.evals._verdicts.reply_language import Shape, shape


@pytest.mark.parametrize("language", ["zh-CN", "zh-TW", "ja-JP", "ko-KR", "yue-HK", "en-US"])
def test_the_completion_word_has_the_shape_of_its_language(language: str) -> None:
    assert shape(completion_word(language), language) == "ok"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("ja-JP", "終わりました", "ok"),
        ("ja-JP", "ｵﾜﾘ", "ok"),
        ("ja-JP", "完成", "unknown"),
        ("ja-JP", "완료", "drift"),
        ("ja-JP", "all is done", "drift"),
        ("ja-JP", "is done", "unknown"),
        ("zh-CN", "完成了", "ok"),
        ("zh-CN", "完了しました", "drift"),
        ("yue-HK", "완료", "drift"),
        ("zh-TW", "all is done", "drift"),
        ("ko-KR", "완료 完成", "ok"),
        ("ko-KR", "完成", "unknown"),
        ("ko-KR", "しました", "drift"),
        ("ko-KR", "all is done", "drift"),
        ("en-US", "Done.", "ok"),
        ("en-US", "完成", "unknown"),
        ("pt-BR", "Pronto.", "unknown"),
        ("ja-JP", "  ", "unknown"),
        ("ja-JP", '<lang code="en">all is done here</lang>完了です', "ok"),
        ("zh-CN", '<lang code="ja">しました</lang>完成', "ok"),
    ],
)
def test_a_text_has_a_shape_by_its_script(language: str, text: str, expected: Shape) -> None:
    assert shape(text, language) == expected
