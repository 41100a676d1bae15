r"""Text of servers, models and files as a person may read it: what cannot be seen is spelt out.

Control characters drive a terminal; bidirectional controls show a text in another order than it has;
characters without a width hide in it.
"""

from __future__ import annotations

import re

from toolreel_core._lazy_pattern import lazy_pattern

# C0 without tab and line feed, DEL and C1 (in an 8-bit terminal, 0x9B alone begins an escape sequence),
# surrogate halves (no stream can encode them), line and paragraph separators, format characters, and the rest
# of Unicode's Default_Ignorable_Code_Point.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Behind a symbol, U+FE0F only asks for its picture: so do many emoji.
_HIDDEN = lazy_pattern(rf"(?<![\u2190-\u2bff\U0001f000-\U0001faff])\ufe0f|(?!\ufe0f)[{_UNSEEN}]")


def printable_text(text: str) -> str:
    r"""The text with all that is unseen spelt out, so that it shows what it holds.

    >>> print(printable_text("\x1b[31mred, pay\u202e001"))
    \x1b[31mred, pay\u202e001
    """
    return _HIDDEN.sub(_python_escape, text.replace("\r\n", "\n"))


def printable_json(text: str) -> str:
    r"""JSON text with all that is unseen as escapes; it means the same.

    >>> print(printable_json('"\x9b"'))
    "\u009b"
    """
    return _HIDDEN.sub(_json_escape, text)


def _python_escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _json_escape(found: re.Match[str]) -> str:
    if found[0] in "\n\t\r":  # between the values of a text with more than one line
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def count_with_noun(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
