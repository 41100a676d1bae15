"""Docstrings: the description of a function, and those of its parameters.

Google's ``Args:`` sections, NumPy's underlined sections and Sphinx's ``:param name:`` fields are all
recognized at once, because one project may mix them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from textwrap import dedent
from typing import NamedTuple

from toolreel_core._lazy_pattern import lazy_pattern

_PARAMETERS = "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Attributes"
_OTHERS = "Returns|Return|Raises|Yields|Warns|Warnings|Example|Examples|Note|Notes|See Also|References"
_TITLES = f"{_PARAMETERS}|{_OTHERS}"
_UNDERLINED = lazy_pattern(rf"(?m)^({_TITLES})\n-{{3,}}$")  # NumPy: a title above a line of dashes
# Google: a title with a colon, alone on its line; or one of NumPy, with its dashes on the same line.
_SECTION = lazy_pattern(rf"({_TITLES})(:|---)")
# One name or several, such as "x", "*args", "`x`", "- x" or "x, y".
_NAMES = r"(?:[-*+•]\s)?\s*([\w`*]+(?:\s*,\s*[\w`*]+)*)\s*"
_TYPE = r"(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*)?"  # in brackets, of up to three levels
# Google: "x (int): text", "x: text", "x - text" or "x – text".
_GOOGLE_ENTRY = lazy_pattern(rf"{_NAMES}{_TYPE}(?::|--?\s|–\s)\s*(.*)")
_NUMPY_ENTRY = lazy_pattern(rf"{_NAMES}(?::.*)?()")  # the text follows on indented lines
# Sphinx: ":param type name: text", with all spellings that Sphinx accepts. Other fields end a description.
_FIELD = lazy_pattern(
    r":(?:(?:param|parameter|arg|argument|key|keyword)\s([^:]*\w):\s*(.*)"
    r"|(?:type|returns?|rtype|raises?|yields?)\b[^:]*:)"
)
# Lists, examples, tables and fenced code keep their lines.
_VERBATIM = lazy_pattern(r"(?:[-*+•]|\d{1,3}[.)])\s|>>>|\||```|~~~")


class Docstring(NamedTuple):
    summary: str
    """The text outside of sections; paragraphs are joined, lists and code keep their lines."""
    parameters: Mapping[str, str]


def parse_docstring(docstring: str, names: Container[str]) -> Docstring:
    """The summary of a docstring, and its descriptions of parameters.

    :param docstring: without indentation, as from ``inspect.getdoc``
    :param names: existing parameters; descriptions of others are ignored
    """
    summary: list[str] = []
    described: dict[str, list[str]] = {}
    # Lines are added to `current`: to the summary, to a parameter, or to what is ignored.
    section, current, underlined, indent = "", summary, False, -1
    for line in _UNDERLINED.sub(r"\1---", docstring).splitlines():
        text, depth = line.strip(), len(line) - len(line.lstrip())
        if found := _FIELD.match(text):
            section, current = "fields", [found[2] if found[1] else "…"]
            if found[1]:
                described[found[1].split()[-1].lstrip("*")] = current
        elif found := _SECTION.fullmatch(text):
            section, current, underlined, indent = found[1], [], found[2] != ":", -1
        elif not section or not text:
            current.append(line)
        else:
            indent = depth if indent < 0 else indent
            entry = None
            if section in _PARAMETERS.split("|") and depth <= indent:
                entry = (_NUMPY_ENTRY if underlined else _GOOGLE_ENTRY).fullmatch(text)
            found_names = [name.strip().strip("`*") for name in entry[1].split(",")] if entry else []
            known = [name for name in found_names if name in names]
            # At the margin, any line is an entry of a NumPy section, but only a parameter is one of Google.
            if known or (entry and depth) or (underlined and not depth):
                current = [entry[2] if entry else ""]  # ignored if it is of another parameter
                described |= dict.fromkeys(known, current)
            # A field of Sphinx goes on at the margin, up to a blank line.
            elif depth or (section == "fields" and current[-1].strip()):
                current.append(line)
            else:
                section, current = "", summary
                summary += ["", line]
    texts = {
        name: _join_paragraphs([lines[0], *dedent("\n".join(lines[1:])).split("\n")])
        for name, lines in described.items()
    }
    return Docstring(_join_paragraphs(summary), texts)


def _join_paragraphs(lines: Iterable[str]) -> str:
    written: list[str] = []
    fenced = verbatim = flows = False
    begins = True
    for line in lines:
        text = line.strip()
        fenced ^= text.startswith(("```", "~~~"))
        if not text and not fenced:
            verbatim, begins = False, True
            continue
        # As in Markdown, four blanks at the beginning of a paragraph make it code.
        is_code = fenced or (begins and line[:4].isspace())
        verbatim = verbatim or is_code or _VERBATIM.match(text) is not None
        if flows and not verbatim:
            written[-1] += f" {text}"
        else:
            written.append(line.rstrip() if verbatim else text)
        flows, begins = not verbatim, False
    return "\n".join(written).strip()
