"""Format numbers and texts for readers of a report."""

from __future__ import annotations

import re
from typing import Final

from toolreel_core.evals._statistics.counts import Interval

LONGEST: Final = 4_000
"""Characters of one text that the page shows."""

# Control characters, marks that turn the direction of text (they can disguise it), and lone surrogates.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def percent(share: float | None) -> str:
    """A share in percent, with one digit behind the point where it is needed.

    >>> percent(0.8667), percent(1.0), percent(None)
    ('86.7 %', '100 %', 'no valid run')
    """
    return "no valid run" if share is None else f"{_short(100 * share)} %"


def points(share: float) -> str:
    """A difference of two shares, in points.

    >>> points(0.041), points(-0.5), points(0.0)
    ('+4.1 points', '-50 points', '0 points')
    """
    sign = "+" if share > 0 else ""
    return f"{sign}{_short(100 * share)} points"


def interval_words(interval: Interval | None) -> str:
    """An interval, and nothing where there is none."""
    return "" if interval is None else str(interval)


def thousands(number: float) -> str:
    """A number with its thousands apart.

    >>> thousands(12345), thousands(0.00123), thousands(2.5)
    ('12,345', '0.00123', '2.5')
    """
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"


def visible(text: str) -> str:
    r"""A text that models or servers wrote, with what cannot be seen, or turns text around, spelt out.

    >>> print(visible("a\x1bb\u202ec"))
    a\x1bb\u202ec
    """
    return _UNSEEN.sub(lambda found: _spelt(ord(found[0])), text.replace("\r\n", "\n"))


def truncated(text: str, longest: int = LONGEST) -> str:
    """The same, cut where it is too long to be read; says how much is left out.

    >>> truncated("abcdef", 4)
    'abcd … 2 more characters are in the cassette'
    """
    rest = len(text) - longest
    if rest <= 0:
        return visible(text)
    return f"{visible(text[:longest])} … {rest:,} more characters are in the cassette"


def _short(number: float) -> str:
    digits = f"{number:.1f}".removesuffix(".0")
    return "0" if digits == "-0" else digits


def _spelt(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
