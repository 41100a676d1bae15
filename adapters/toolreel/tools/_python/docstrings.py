"""Parse docstrings: the summary, and the description of each parameter.

Google's ``Args:`` sections, NumPy's underlined sections and Sphinx's ``:param name:`` fields are all
recognized at once, because one project may mix them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final, NamedTuple

_TITLES: Final = (
    "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Attributes|Returns|"
    "Return|Raises|Yields|Warns|Warnings|Example|Examples|Note|Notes|See Also|References"
)
_SECTION: Final = re.compile(rf"({_TITLES}):")  # Google: a title with a colon, alone on its line
_UNDERLINED: Final = re.compile(_TITLES)  # NumPy: a title above a line of dashes
_LINE: Final = re.compile(r"-{3,}")
"""The line below the title of a section in numpy's style."""
# Google: "name (type): text", also for *args and **kwargs.
_ENTRY: Final = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
# NumPy: "name : type"; the text follows on indented lines.
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
# Sphinx: ":param type name: text", with all spellings that Sphinx accepts.
_FIELD: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+):\s*(.*)"
)
# Other fields end the description of a parameter.
_OTHER_FIELD: Final = re.compile(r":(?:type|returns?|rtype|raises?|yields?)\b[^:]*:")


class Docstring(NamedTuple):
    """A parsed docstring."""

    summary: str
    """The paragraphs before the first section, joined."""
    parameters: Mapping[str, str]
    """Descriptions by parameter name."""


def parse_docstring(docstring: str, names: Container[str]) -> Docstring:
    r"""Parse a docstring.

    >>> parse_docstring("Roll a die.\n\nArgs:\n    sides: How many it has.", {"sides"})
    Docstring(summary='Roll a die.', parameters={'sides': 'How many it has.'})

    :param docstring: without indentation, as from ``inspect.getdoc``
    :param names: existing parameters; descriptions of others are ignored
    """
    summary: list[str] = []
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
            summary.append(line)
        elif entry := _entry(line, names, underlined=underlined) if section in _PARAMETER_SECTIONS else None:
            current, described[entry[0]] = entry
        elif text and not line[0].isspace():
            current = ""
        elif current and text:
            described[current] = f"{described[current]} {text}".strip()
    return Docstring(" ".join("\n".join(summary).split()), described)


def _entry(line: str, names: Container[str], *, underlined: bool) -> tuple[str, str] | None:
    """The parameter name and text of a line that begins an entry, if the line does."""
    if underlined:
        found = None if line[:1].isspace() else _NUMPY_ENTRY.fullmatch(line.strip())
        return (found[1], "") if found and found[1] in names else None
    found = _ENTRY.match(line.strip())
    return (found[1], found[2]) if found and found[1] in names else None


def _lines(docstring: str) -> Iterator[tuple[str, str]]:
    """Each line, with the section title if it is an underlined one; underlines are skipped."""
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
