"""Tags that are left over: proof that a call did not end where it seemed to.

A raw value has no escapes, so a value that holds the closing tag of its dialect seems to end there, and the
rest of it would become content. The rest gives itself away: its own closing tag is then one too many.
"""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source

_ANGLES: Final = frozenset("<>")
_ENDS: Final = re.compile(
    r"\s*+(?:```\s*+)?(?:\Z|<[|\uff5c\u2016]|\[[\w/]|\][<~]"
    r"|</?(?:\w{1,40}[:_|])?(?:tool|function|invoke|calls?\b|dots_|response|answer|think|s>))",
    re.IGNORECASE,
)
"""The end of a text, or a tag or token that may stand behind a call: the next call, or a closer around it."""


def holds_markup(text: str) -> bool:
    """Whether a text may hold part of a tag.

    A value or key that lacks one of its own tags is certain only without: the tag may be misspelt.
    """
    return not _ANGLES.isdisjoint(text)


def mentions(before: str) -> bool:
    """Whether an opening tag after this part of a value is only mentioned there.

    Directly at the head of the value the tag is doubled, and behind other markup the value may be two.
    """
    return bool(before.strip()) and not holds_markup(before)


def surplus(source: Source, at: int, tags: re.Pattern[str]) -> int:
    """The end of the last tag between a place and the next call; -1 if there is none.

    :param tags: of the inside and the end of a call; its group ``opens`` matches the next call
    """
    last = -1
    for tag in tags.finditer(source.text, at):
        if tag["opens"] is not None:
            break
        if source.text[tag.start() - 1] != "`":  # prose that names the tag
            last = tag.end()
    return last


def rest(source: Source, at: int, opening: re.Pattern[str]) -> Broken | None:
    """The call without a closing tag of its own behind whose last value text goes on.

    Then the value held its own closing tag, and the text is the rest of it.

    :param opening: of the next call
    """
    if _ENDS.match(source.text, at):
        return None
    following = source.search(opening, at)
    return Broken("malformed", following.start() if following else len(source.text))


def whole(source: Source, reading: Reading, tags: re.Pattern[str]) -> Reading:
    """A reading, unless tags of the call are left behind its end: then it was cut, and is malformed."""
    if not isinstance(reading, Calls):
        return reading
    end = surplus(source, reading.end, tags)
    return reading if end < 0 else Broken("malformed", end)


def confused(source: Source, at: int, opening: re.Pattern[str], closing: re.Pattern[str]) -> Broken:
    """A call whose values hold markup, up to the closing tag that balances its opening tag.

    What stands inside may look like another call, so nothing in it is read; without a balance, nothing up to
    the end of the text.

    :param at: behind the opening tag
    """
    depth = 1
    while depth:
        close = source.search(closing, at)
        if close is None:
            return Broken("malformed", len(source.text))
        opened = source.search(opening, at)
        if opened and opened.start() < close.start():
            depth, at = depth + 1, opened.end()
        else:
            depth, at = depth - 1, max(close.end(), at + 1)
    return Broken("malformed", at)
