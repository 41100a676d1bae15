"""Durations as ISO 8601 writes them: parsed from a text, and written as one."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_NUMBER: Final = r"(\d+(?:[.,]\d+)?)"
# The lookaheads reject "P" and "PT" without any component.
_DURATION: Final = re.compile(
    rf"([+-]?)P(?=.)(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)


def parse_duration(text: str) -> timedelta:
    """Parse a duration; years and months are rejected, because their length varies.

    >>> parse_duration("PT1H30M")
    datetime.timedelta(seconds=5400)

    :raises ValueError: if the text is not a duration
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"not a duration: {text!r}")
    weeks, days, hours, minutes, seconds = (
        float((part or "0").replace(",", ".")) for part in found.groups()[1:]
    )
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if found[1] == "-" else length


def duration_text(length: timedelta) -> str:
    """Format a duration.

    >>> duration_text(timedelta(days=-1, minutes=30)), duration_text(timedelta(0))
    ('-PT23H30M', 'PT0S')
    """
    sign, length = ("-", -length) if length < timedelta(0) else ("", length)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = (
        f"{seconds}.{length.microseconds:06}".rstrip("0").rstrip(".") if length.microseconds else f"{seconds}"
    )
    days = f"{length.days}D" if length.days else ""
    parts = [(f"{hours}", "H"), (f"{minutes}", "M"), (fraction, "S")]
    clock = "".join(number + unit for number, unit in parts if number != "0")
    return f"{sign}P{days}{'T' + clock if clock else ''}" if days or clock else "PT0S"
