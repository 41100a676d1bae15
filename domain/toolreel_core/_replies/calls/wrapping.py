"""Code fences and control tokens around JSON, and whether JSON text is truncated."""

from __future__ import annotations

import re
from typing import Final

# The closing fence is as long as the opening one, so that a fence may quote a shorter one.
_FENCE: Final = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[\w+-]*+\s?(?P<body>.*)(?P=fence)", re.DOTALL)
_OPEN_FENCE: Final = re.compile(r"\s*+(?:```|~~~)")
# `<|im_end|>`, `</s>`, `[/TOOL_CALLS]`. No blanks, quotes or braces within, so that it is no HTML and no
# JSON; the length is bounded, so that a long text of `<` is not searched again from each of them.
_TOKENS: Final = re.compile(r"(?:\s*+(?:<[^<>\s\"'{}]{1,64}+>|\[/?[A-Z_]{2,32}+\]))++\s*+")
# Strings are skipped as a whole, since brackets inside them do not count. Possessive: no backtracking.
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<closed>"?)|(?P<up>[\[{])|(?P<down>[\]}])', re.DOTALL)


def without_fence(text: str) -> str:
    """The content of a code fence around the whole text; else the text.

    >>> without_fence("```json {} ```")
    '{}'
    """
    fenced = _FENCE.fullmatch(text.strip())
    return fenced["body"].strip() if fenced else text


def without_tokens(text: str) -> str:
    """An empty string if the text is only control tokens of a model; else the text.

    >>> without_tokens(" <|tool_call_end|></s>"), without_tokens(" and more")
    ('', ' and more')
    """
    return "" if _TOKENS.fullmatch(text) else text


def without_tokens_behind_fence(text: str) -> str:
    """The text without the control tokens after its closing code fence.

    >>> without_tokens_behind_fence("``` {} ```<|im_end|>")
    '``` {} ```'
    """
    fence = max(text.rfind("```"), text.rfind("~~~")) + 3
    return text[:fence] if fence > 2 and _TOKENS.fullmatch(text, fence) else text


def is_cut(text: str) -> bool:
    """Whether JSON text, or the code fence around it, is never closed; true for blank text.

    Brackets are counted instead of parsed, because the text may be wrong before the place where it stops.

    >>> is_cut('{"part": "pi'), is_cut('{"part": pin}')
    (True, False)
    """
    if _OPEN_FENCE.match(text) and without_fence(text) == text:
        return True
    depth = 0
    for token in _STRUCTURE.finditer(text):
        if token["closed"] == "":
            return True
        depth += bool(token["up"]) - bool(token["down"])
    return depth > 0 or not text.strip()
