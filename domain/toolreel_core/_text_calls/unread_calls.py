"""Detection of calls, and of tagged reasoning, in a text in which no dialect was read.

Servers without a parser for their model leave its markup in the text (vllm-project/vllm#47190,
ollama/ollama#17353): the run would end as if it were an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from toolreel_core._text_calls.dialects import BARE

_OPENING: Final = {"channel", "message", "addressed", "content"}
"""Openers that also precede ordinary text, and so prove nothing."""
_LEFT: Final = (
    r"<arg_key>|<minimax:tool_call>|<\|(?:tool_call|action_start)|<\uff5c(?:tool|DSML)|\bto=functions\.\w"
)
"""Markup that remains of a call when a server has removed its opener, and markup around calls."""
_THINK: Final = re.compile(
    r"<(?:seed:|mm:)?think(?:ing)?>|<(?:thought|reasoning|scratch_pad)>|\[THINK\]|<\|START_THINKING\|>"
    r"|◁think▷|<\|channel\|?>(?:analysis|thought)\b"
    r"|</(?:seed:|mm:)?think(?:ing)?>|</(?:thought|reasoning|scratch_pad)>|\[/THINK\]|<\|END_THINKING\|>"
    r"|◁/think▷",
    re.IGNORECASE,
)
"""Openers of reasoning, which count at the head of a text, and closers, which count anywhere."""
_WHOLE: Final = ("{", "[", "<", "```", "~~~", "Action:", "Thought:")
"""First characters of messages that may be one call as a whole."""


def may_hide_something(text: str, known: Collection[str], *, has_calls: bool) -> bool:
    """Whether a text may hold tagged reasoning or, if there are no structured calls, a call.

    >>> may_hide_something("How many pins?", [], has_calls=False)
    False
    >>> may_hide_something("<function=ping>", [], has_calls=False)
    True
    """
    return not _is_plain(text) and (
        has_think_tags(text) or (not has_calls and looks_like_a_call(text, known))
    )


def looks_like_a_call(text: str, known: Collection[str]) -> bool:
    """Whether a text has call markup outside of code, or is a call as a whole.

    >>> looks_like_a_call("<function=ping>", []), looks_like_a_call("Say `<tool_call>`.", [])
    (True, False)
    >>> looks_like_a_call('{"name": "ping", "arguments": {}}', ["ping"])
    True
    """
    marked = "<" in text or "[" in text or ("=" in text and "to=" in text) or "✿" in text
    if marked and _marks().search(_outside_code(text)):
        return True
    return text.lstrip().startswith(_WHOLE) and _is_a_call(text, known)


def has_think_tags(text: str) -> bool:
    """Whether a text begins with tagged reasoning, or has its closing tag anywhere.

    >>> has_think_tags("<think>2+2</think>Four."), has_think_tags("Four.")
    (True, False)
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return False
    head = len(text) - len(text.lstrip())
    return any(_closes(found[0]) or found.start() == head for found in _THINK.finditer(text))


def _is_plain(text: str) -> bool:
    """Whether a text has none of the characters that calls or reasoning tags need.

    Nearly every answer is plain, and ``in`` is many times faster than a regular expression.
    """
    drawn = "<" in text or "[" in text or "{" in text or "=" in text or "✿" in text or "◁" in text
    return not drawn and not text.lstrip().startswith(_WHOLE)


@cache
def _marks() -> re.Pattern[str]:
    """The markup of calls in all dialects, imported when a text is first in doubt: decoders load slowly."""
    from toolreel_core._text_calls.markers import OPENERS  # noqa: PLC0415 - see above

    openers = (opener.pattern for key, opener in OPENERS.items() if key not in _OPENING)
    return re.compile("|".join([_LEFT, *openers]), re.IGNORECASE)


def _is_a_call(text: str, known: Collection[str]) -> bool:
    from toolreel_core._text_calls.parse import text_calls  # noqa: PLC0415 - loaded when a text is first in doubt

    return bool(text_calls(text, tools=known, dialects=BARE, finish="stop").calls)


def _outside_code(text: str) -> str:
    for ticks in ("```", "`"):
        *closed, last = text.split(ticks)
        # Unclosed backticks quote nothing.
        text = "".join(closed[::2]) + last
    return text


def _closes(tag: str) -> bool:
    return "/" in tag or "|END" in tag.upper()
