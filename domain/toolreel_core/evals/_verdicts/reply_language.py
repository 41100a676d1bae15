"""Whether an answer looks as if it were written in the language that was asked for, by its script alone."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Shape: TypeAlias = Literal["ok", "drift", "unknown"]
"""``unknown`` where the script alone does not tell."""

# Scripts by Unicode block. Half-width kana (U+FF66 on) count too; Han characters are shared by Chinese,
# Japanese and old Korean texts, so they alone decide nothing for the latter two.
_KANA: Final = re.compile("[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""Chinese characters."""
_HANGUL: Final = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
"""Korean letters and syllables."""
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f]{2,}")
"""A Latin word of two letters or more."""
# The marks one by one, not a pair with ".*?" between: that would look for the end from every beginning on.
_MARKS: Final = re.compile(r"<lang\b|</lang>|>", re.IGNORECASE)
_FOREIGN_WORDS: Final = 3
"""Number of Latin words that make a text foreign; fewer may be names of tools or values."""


def shape(text: str, language: str) -> Shape:
    """Whether a text looks as if it were written in a language, by its script alone.

    >>> shape("完了しました。", "ja-JP"), shape("완료", "ja-JP"), shape("完成", "ja-JP")
    ('ok', 'drift', 'unknown')
    """
    plain = _without_marked(text)
    foreign = len(_LATIN.findall(plain)) >= _FOREIGN_WORDS
    kana, han, hangul = (bool(script.search(plain)) for script in (_KANA, _HAN, _HANGUL))
    match language.partition("-")[0].lower():
        case "ja":
            return _by((kana, "ok"), (han, "unknown"), (hangul or foreign, "drift"))
        case "zh" | "yue":
            return _by((kana, "drift"), (han, "ok"), (hangul or foreign, "drift"))
        case "ko":
            return _by((hangul, "ok"), (han, "unknown"), (kana or foreign, "drift"))
        case "en":
            return _by((bool(_LATIN.search(plain)), "ok"))
        case _:
            return "unknown"


def _without_marked(text: str) -> str:
    """The text without what stands between ``<lang ...>`` and ``</lang>``."""
    kept, end, begun, inside = list[str](), 0, -1, False
    for mark in _MARKS.finditer(text):
        if begun < 0:
            begun = mark.start() if mark[0][:2].lower() == "<l" else -1
        elif not inside:
            inside = mark[0][-1] == ">"
        elif mark[0].lower() == "</lang>":
            kept.append(text[end:begun])
            end, begun, inside = mark.end(), -1, False
    return "".join((*kept, text[end:]))


def _by(*rules: tuple[bool, Shape]) -> Shape:
    """The shape of the first rule that applies."""
    found: list[Shape] = [shape for applies, shape in rules if applies]
    return found[0] if found else "unknown"
