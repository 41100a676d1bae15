"""What a docstring says: about the whole, and about each parameter, in the styles that are in use.

Google's ``Args:`` sections, NumPy's underlined ones and Sphinx's ``:param name:`` fields are read side by
side, since one project may have them all.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final, NamedTuple

__all__ = ["Docstring", "parse_docstring"]

_TITLES: Final = (
    "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Attributes|Returns|"
    "Return|Raises|Yields|Warns|Warnings|Example|Examples|Note|Notes|See Also|References"
)
_SECTION: Final = re.compile(rf"({_TITLES}):")
_UNDERLINED: Final = re.compile(_TITLES)
_LINE: Final = re.compile(r"-{3,}")
_ENTRY: Final = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_NUMPY_ENTRY: Final = re.compile(r"\*{0,2}(\w+)(?:\s*:.*)?")
_PARAMETER_SECTIONS: Final = {
    "Args",
    "Arguments",
    "Parameters",
    "Params",
    "Other Parameters",
    "Keyword Args",
    "Keyword Arguments",
    "Attributes",
}
_FIELD: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+):\s*(.*)"
)
_OTHER_FIELD: Final = re.compile(r":(?:type|returns?|rtype|raises?|yields?)\b[^:]*:")


class Docstring(NamedTuple):
    """A docstring, taken apart."""

    about: str
    """The paragraphs before the first section, as one."""
    described: Mapping[str, str]
    """The words for each parameter that has some."""


def parse_docstring(docstring: str, names: Container[str]) -> Docstring:
    r"""What a docstring says.

    >>> parse_docstring("Roll a die.\n\nArgs:\n    sides: How many it has.", {"sides"})
    Words(about='Roll a die.', described={'sides': 'How many it has.'})

    :param docstring: without its indentation, as ``inspect.getdoc`` gives it
    :param names: the parameters that there are; others are not described
    """
    about: list[str] = []
    described: dict[str, str] = {}
    section, current, underlined = "", "", False
    for line, title in _lines(docstring):
        text = line.strip()
        if title:
            section, current, underlined = title, "", True
        elif found := _FIELD.match(text):
            section, current = "fields", found[1]
            described[current] = found[2]
        elif found := _SECTION.fullmatch(text):
            section, current, underlined = found[1], "", False
        elif _OTHER_FIELD.match(text):
            section, current = "fields", ""
        elif not section:
            about.append(line)
        elif entry := _entry(line, names, underlined=underlined) if section in _PARAMETER_SECTIONS else None:
            current, described[entry[0]] = entry
        elif text and not line[0].isspace():
            current = ""
        elif current and text:
            described[current] = f"{described[current]} {text}".strip()
    return Docstring(" ".join("\n".join(about).split()), described)


def _entry(line: str, names: Container[str], *, underlined: bool) -> tuple[str, str] | None:
    """The parameter that a line of a section of arguments begins to describe, and the first of its words."""
    if underlined:
        found = None if line[:1].isspace() else _NUMPY_ENTRY.fullmatch(line.strip())
        return (found[1], "") if found and found[1] in names else None
    found = _ENTRY.match(line.strip())
    return (found[1], found[2]) if found and found[1] in names else None


def _lines(docstring: str) -> Iterator[tuple[str, str]]:
    """Each line, and the title that it is; a line under a title is left out."""
    lines = docstring.splitlines()
    skipped = False
    for line, under in zip(lines, [*lines[1:], ""], strict=False):
        if skipped:
            skipped = False
        elif _UNDERLINED.fullmatch(line) and _LINE.fullmatch(under):
            skipped = True
            yield line, line
        else:
            yield line, ""
