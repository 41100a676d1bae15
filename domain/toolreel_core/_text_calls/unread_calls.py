"""Detection of calls, and of tagged reasoning, in a text in which no dialect was read.

Servers without a parser for their model leave its markup in the text (vllm-project/vllm#47190,
ollama/ollama#17353): the run would end as if it were an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from pyrsistent import pmap

from toolreel_core._jsontext import Json
from toolreel_core._text_calls.decoder_interface import Made, never_made
from toolreel_core._text_calls.dialects import BARE

_NO_SCHEMAS: Final[Mapping[str, Json]] = pmap()
_OPENING: Final = {"channel", "message", "addressed", "content"}
"""Openers that also precede ordinary text, and so prove nothing."""
_PREFIX: Final = r"(?:\w{1,20}[:_|])?"
_LEFT: Final = (
    r"<\|(?:tool_call|action_start|(?:open|close)\|>)|<tool_call\||to=functions\.\w"
    r"|<[/\W]{0,4}(?:DSML|GCML)\W|<[|\uff5c\u2016]{1,2}tool|\[/?TOOL_CALLS?\]"
    rf"|</?{_PREFIX}(?:arg_key|arg_value|tool_?calls?|tool_use|function_?calls?|invoke)(?:[\s:][^<>\n]{{0,200}})?>"
    r"|<(?:param|parameter)\s*=|</(?:param|parameter)>\s*</(?:function|invoke)\b"
    r"|<\|channel\|>commentary[^<>]{0,100}(?:<\|constrain\|>\w{0,20})?<\|message\|>\s*\{"
)
"""Markup that remains of a call when a server has removed its opener, and markup around calls."""
_CLOSER: Final = re.compile(r"</[^<>\s]{1,60}>\s*")
"""A closing tag that is left at the end of a text."""
_CALL_END: Final = (
    rf"</{_PREFIX}(?:param(?:eter)?|function(?:_?calls?)?|invoke|tool_?calls?|tool_use|arg_key|arg_value)"
    r"(?::[^<>\s]{1,40})?\s?>|<\|(?:call|tool_call_end|tool_calls_section_end|/tool_call)\|>|<tool_call\|>"
    r"|<[|\uff5c]tool[▁_ ]calls?[▁_ ]end[|\uff5c]>|\[/TOOL_CALLS?\]"
)
"""The end of a call, in the dialects whose ends are tags or tokens."""
_LONGEST_MARKER: Final = 80
_IN_SENTENCE: Final = re.compile(r"[^\s.!?:;,)}\]'\"”。>][ \t]\Z|[(\[{]\s?\Z")
"""What stands before a marker that a sentence names: a blank without the end of a sentence, or a bracket."""
_THINK: Final = re.compile(
    r"<(?:seed:|mm:)?think(?:ing)?>|<(?:thought|reasoning|scratch_pad)>|\[THINK\]|<\|START_THINKING\|>"
    r"|◁think▷|<\|channel\|?>(?:analysis|thought)\b"
    r"|</(?:seed:|mm:)?think(?:ing)?>|</(?:thought|reasoning|scratch_pad)>|\[/THINK\]|<\|END_THINKING\|>"
    r"|◁/think▷",
    re.IGNORECASE,
)
"""Openers of reasoning, which count at the head of a text, and closers, which count anywhere."""
_DRAWN: Final = frozenset("<[{=✿◁")
_WHOLE: Final = ("{", "[", "<", "```", "~~~", "Action:", "Thought:")
"""First characters of messages that may be one call as a whole."""


def is_plain(text: str) -> bool:
    """Whether a text has none of the characters that the markup of calls or of reasoning needs.

    >>> is_plain("How many pins?"), is_plain("<function=ping>")
    (True, False)
    """
    return _DRAWN.isdisjoint(text) and not text.lstrip().startswith(_WHOLE)


def looks_like_a_call(
    text: str,
    known: Collection[str],
    schemas: Mapping[str, Json] = _NO_SCHEMAS,
    made: Made = never_made,
) -> bool:
    """Whether a text has call markup or the skeleton of a call outside of code, or is a call as a whole.

    >>> looks_like_a_call("<function=ping>", []), looks_like_a_call("Say `<tool_call>`.", [])
    (True, False)
    >>> looks_like_a_call('{"name": "ping", "arguments": {}}', ["ping"])
    True

    :param made: the calls that a text may report in words, without their markup
    """
    outside = _outside_quotations(text)
    return (
        has_markup(outside)
        or (names_a_tool(outside, known) and _has_skeleton(outside, known, schemas, made))
        or (text.rstrip().endswith("```") and _is_named_before_fence(text, known, schemas))
        or (text.lstrip().startswith(_WHOLE) and _is_a_call(text, known))
    )


def has_markup(outside: str) -> bool:
    """Whether a text that is not quoted has the markup of a call, or the end of one."""
    marked = "<" in outside or "[" in outside or ("=" in outside and "to=" in outside) or "✿" in outside
    return marked and bool(_marks().search(_without_last_closers(outside)) or _ending(outside).lost)


def without_end_markers(text: str) -> str:
    """An answer without the control tokens, and the closing tags of calls, that are left at its end.

    One that stands in a sentence is what the answer is about.

    >>> without_end_markers("It is sunny.</s>"), without_end_markers("The token is </s>")
    ('It is sunny.', 'The token is </s>')
    """
    return _ending(text).content if text.rstrip().endswith((">", "]")) else text


def has_think_tags(text: str) -> bool:
    """Whether a text begins with tagged reasoning, or has its closing tag anywhere.

    >>> has_think_tags("<think>2+2</think>Four."), has_think_tags("Four.")
    (True, False)
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return False
    head = len(text) - len(text.lstrip())
    return any(_closes(found[0]) or found.start() == head for found in _THINK.finditer(text))


def names_a_tool(text: str, known: Collection[str]) -> bool:
    """Whether a text names a tool, and has a bracket, a tag or an assignment: a call may be in it.

    >>> names_a_tool("Use add.", ["add"]), names_a_tool("add(a=1)", ["add"])
    (False, True)
    """
    drawn = "{" in text or "=" in text or "<" in text
    return drawn and any(name in text for name in known)


@cache
def _marks() -> re.Pattern[str]:
    """The markup of calls in all dialects, imported when a text is first in doubt: decoders load slowly."""
    from toolreel_core._text_calls.markers import OPENERS  # noqa: PLC0415 - see above

    openers = (opener.pattern for key, opener in OPENERS.items() if key not in _OPENING)
    return re.compile("|".join([_LEFT, *openers]), re.IGNORECASE)


def _has_skeleton(text: str, known: Collection[str], schemas: Mapping[str, Json], made: Made) -> bool:
    from toolreel_core._text_calls.calls_in_unknown_formats import has_skeleton  # noqa: PLC0415 - as above

    return has_skeleton(text, known, schemas, made)


def _is_a_call(text: str, known: Collection[str]) -> bool:
    from toolreel_core._text_calls.parse import text_calls  # noqa: PLC0415 - loaded when a text is first in doubt

    return bool(text_calls(text, tools=known, dialects=BARE, finish="stop").calls)


def _is_named_before_fence(text: str, known: Collection[str], schemas: Mapping[str, Json]) -> bool:
    from toolreel_core._text_calls.calls_in_unknown_formats import named_before_fence  # noqa: PLC0415 - as above

    return named_before_fence(text, known, schemas)


def _outside_quotations(text: str) -> str:
    from toolreel_core._text_calls.decoder_interface import Offered, Source  # noqa: PLC0415 - as above
    from toolreel_core._text_calls.quotations import Quotations  # noqa: PLC0415 - as above

    return Quotations.of(Source(text, Offered(frozenset()), frozenset(), cut=False)).outside()


@dataclass(frozen=True, slots=True)
class _Ending:
    """What an answer is without the markers at its end."""

    content: str
    lost: bool
    """Whether they end a call whose beginning is lost: two closing tags, or one behind an object."""


def _ending(text: str) -> _Ending:
    marker, closers = _end_marker(), set[str]()
    end = whole = len(text.rstrip())
    while last := marker.search(text, max(0, end - _LONGEST_MARKER), end):
        end = last.start()
        if _IN_SENTENCE.search(text, max(0, end - 2), end):
            end = last.end()
            break
        while end and text[end - 1].isspace():
            end -= 1
        if last["call"]:
            closers.add(last["call"].lower())
    rest = text[:end]
    # Directly behind the end of a sentence, they are noise of the server (osaurus-ai/vmlx-swift#115).
    several = len(closers) > 1 and not (rest.endswith((".", "!", "?")) and text.startswith("<", len(rest)))
    lost = several or (bool(closers) and rest.endswith(("}", "]")))
    return _Ending(rest if end < whole else text, lost)


@cache
def _end_marker() -> re.Pattern[str]:
    from toolreel_core._text_calls.markers import SPECIAL  # noqa: PLC0415 - as above

    return re.compile(rf"(?:(?P<call>{_CALL_END})|{SPECIAL.pattern})\Z", re.IGNORECASE)


def _without_last_closers(text: str) -> str:
    """A text without the closing tags at its end: behind a plain answer, they are noise."""
    end = len(text)
    while _CLOSER.fullmatch(text, begin := max(0, text.rfind("<", 0, end)), end):
        end = begin
    return text[:end]


def _closes(tag: str) -> bool:
    return "/" in tag or "|END" in tag.upper()
