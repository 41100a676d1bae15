"""Signs that a text holds a tool call which nobody has read.

Servers without a parser for their model leave its markup in the text
(vllm-project/vllm#47190, ollama/ollama#17353): the run would end as if it were an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from toolreel.json_mending import without_fence
from toolreel.jsontext import read

__all__ = ["has_think_tags", "looks_like_a_call"]

_MARKS: Final = re.compile(
    r"<tool_call>|<function=|<invoke\b|<arg_key>|<minimax:tool_call>|\[TOOL_CALLS\]"
    r"|<\|(?:tool_call|python_tag|action_start)|<\uff5c(?:tool|DSML)|\bto=functions\.\w|\bfunctools\[",
    re.IGNORECASE,
)
_THINK: Final = re.compile(r"</?think(?:ing)?>|\[/?THINK\]", re.IGNORECASE)
_ARGUMENTS: Final = ("arguments", "parameters")


def looks_like_a_call(text: str, known: Collection[str]) -> bool:
    """Whether a text holds a call's markup outside of code, or is a call's JSON as a whole.

    >>> looks_like_a_call("<function=ping>", []), looks_like_a_call("Say `<tool_call>`.", [])
    (True, False)
    >>> looks_like_a_call('{"name": "ping", "arguments": {}}', ["ping"])
    True

    :param known: the names of tools that there are
    """
    marked = "<" in text or "[" in text or "to=" in text
    if marked and _MARKS.search(_outside_code(text)):
        return True
    return "{" in text and _is_call(without_fence(text), known)


def has_think_tags(text: str) -> bool:
    """Whether a text begins with reasoning in tags, or holds the end of some.

    >>> has_think_tags("<think>2+2</think>Four."), has_think_tags("Four.")
    (True, False)
    """
    if "<" not in text and "[" not in text:
        return False
    found = _THINK.search(text)
    return found is not None and ("/" in found[0] or not text[: found.start()].strip())


def _outside_code(text: str) -> str:
    for ticks in ("```", "`"):
        *closed, last = text.split(ticks)
        # Ticks that are never closed quote nothing.
        text = "".join(closed[::2]) + last
    return text


def _is_call(text: str, known: Collection[str]) -> bool:
    if not text.strip().startswith("{"):
        return False
    tree = read(text).value_or(None)
    if not isinstance(tree, Mapping):
        return False
    named = isinstance(name := tree.get("name"), str) and name in known
    return named and any(isinstance(tree.get(key), Mapping | str) for key in _ARGUMENTS)
