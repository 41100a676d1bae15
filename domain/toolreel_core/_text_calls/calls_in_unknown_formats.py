"""The skeleton of a call in a text of any format: an offered name next to an object with its parameters.

No list of formats is complete, but whatever a model invents, it has to name the tool and its arguments. The
skeleton only casts suspicion, so it may be loose; the names of tools and of their parameters keep answers in
JSON and prose about tools out of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from toolreel_core._jsontext import Json, tree_at

_REACH: Final = 300
"""Characters around a name in which the rest of its call has to begin."""
_KEY_REACH: Final = 40
_KEYED: Final = re.compile(
    r"""(?:name|tool|tool_name|function|recipient_name|action)["']?\s*(?::|=>|=)\s*["']?(?:functions\.)?\Z""",
    re.IGNORECASE,
)
"""What stands before the name in an envelope or an attribute."""
_ARGUMENTS: Final = re.compile(
    r"""["']?\b(?:arguments|parameters|args|input|kwargs|action_input)["']?\s*(?::|=>|=)\s*["']?\{"""
)
"""A key that models use for arguments, up to the brace of its object."""
_OBJECT: Final = re.compile(
    r"""(?:["'\s>\]),:=]|:\d+|<[^<>{}\n]{0,60}>|(?:with|arguments|parameters|args|input|json)\b){0,20}"""
    r"""(?P<bracket>[{(])\s*["']?(?:--)?(?P<key>[\w-]{1,100})["']?\s*[:="']""",
    re.IGNORECASE,
)
"""An object or a list of keywords behind the name, up to its first key."""
_FLAT: Final = re.compile(r"""["']\s*,\s*["'](?P<key>[\w-]{1,100})["']\s*:""")
"""The key after the name in an object without a key for the arguments."""
_NAMED_KEY: Final = re.compile(
    r"""(?:<|name\s*=\s*["']?|parameter\s*=\s*["']?|["'])(?P<key>[\w-]{1,100})["']?\s*[>:=]"""
)
"""A parameter's name as a tag, an attribute or a key."""
_ATTRIBUTE: Final = re.compile(r"""[^<>]{0,200}?\s(?P<key>[\w-]{1,100})\s*=""")
"""A parameter as an attribute of the tag with the tool's name; the length is bounded, for speed."""
_WORDS: Final = re.compile(r"\w\s+\w+\s*\Z")
"""Two words before a name: it is in a sentence."""
_MORE: Final = re.compile(r"\W{0,3}\s\w+\s\w")
"""Words after a name: the sentence continues."""
_END: Final = re.compile(r"</([\w.-]{1,100})>")
"""A closing tag."""
_VOID: Final = re.compile(r"\s*/>")
"""The end of a tag that closes itself."""
_HEAD_OF_LINE: Final = re.compile(r"(?:\A|\n)[ \t\[]*(?:print\()?(?:functions\.|default_api\.)?\Z")
"""The start of a line, with what models put before a call in Python."""
# fmt: off
_HTML: Final = frozenset({
    "a", "abbr", "address", "area", "article", "aside", "audio", "b", "base", "body", "br",
    "button", "canvas", "caption", "cite", "code", "col", "data", "del", "details", "dialog", "div",
    "em", "embed", "figure", "footer", "form", "frame", "h1", "h2", "head", "header", "hr", "html",
    "i", "iframe", "image", "img", "input", "ins", "kbd", "label", "li", "link", "main", "map",
    "mark", "menu", "meta", "meter", "nav", "object", "ol", "option", "output", "p", "param",
    "path", "picture", "pre", "progress", "q", "s", "script", "search", "section", "select", "slot",
    "small", "source", "span", "strong", "style", "sub", "summary", "sup", "svg", "table", "tbody",
    "td", "template", "text", "textarea", "th", "time", "title", "tr", "track", "u", "ul", "use",
    "var", "video", "wbr",
})
# fmt: on
"""Elements of HTML, whose tags alone say nothing of a tool with the same name."""


def has_skeleton(text: str, known: Collection[str], schemas: Mapping[str, Json]) -> bool:
    """Whether a tool is named next to its arguments.

    >>> add = {"properties": {"a": {"type": "integer"}}}
    >>> has_skeleton("Now add => {a: 1}", ["add"], {"add": add})
    True
    >>> has_skeleton('{"add": {"total": 1}}, so add it up (twice).', ["add"], {"add": add})
    False
    """
    names = _names(frozenset(known))
    if names is None:
        return False
    ends = {tag[1]: tag.start() for tag in _END.finditer(text)}
    return any(
        _is_call(text, name, tree_at(schemas, name[0], "properties"), ends) for name in names.finditer(text)
    )


@lru_cache(maxsize=64)
def _names(known: frozenset[str]) -> re.Pattern[str] | None:
    words = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True) if name)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if words else None


def _is_call(text: str, name: re.Match[str], parameters: Mapping[str, Json], ends: Mapping[str, int]) -> bool:
    before = text[max(0, name.start() - _REACH) : name.start()]
    after = text[name.end() : name.end() + _REACH]
    if _KEYED.search(before, max(0, len(before) - _KEY_REACH)):
        return _is_envelope(before, after, parameters) and not _is_in_a_sentence(text, name.start())
    if before.endswith(("<", "</")):
        return _is_element(name, after, parameters) or (
            name[0].lower() not in _HTML and ends.get(name[0], -1) >= name.start() - len("</")
        )
    beside = _OBJECT.match(after)
    if beside is None or beside["key"] not in parameters:
        return False
    return beside["bracket"] == "{" or _HEAD_OF_LINE.search(before) is not None


def _is_envelope(before: str, after: str, parameters: Mapping[str, Json]) -> bool:
    """Whether a name under a key such as ``name`` has its arguments next to it."""
    if _ARGUMENTS.search(before) or _ARGUMENTS.search(after):
        return True
    flat = _FLAT.match(after)
    keys = [flat] if flat or not before.rstrip("\"' ").endswith("=") else _NAMED_KEY.finditer(after)
    return any(key is not None and key["key"] in parameters for key in keys)


def _is_in_a_sentence(text: str, at: int) -> bool:
    """Whether an object has words of a sentence before and behind it: it is talked about, not called.

    A sentence that leads in to a call ends with a colon, and nothing follows a call on its line.
    """
    line = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    rest = text[at : end if end >= 0 else len(text)]
    lead, brace, _ = text[line:at].partition("{")
    return bool(brace and _WORDS.search(lead) and _MORE.match(rest.rpartition("}")[2]))


def _is_element(name: re.Match[str], after: str, parameters: Mapping[str, Json]) -> bool:
    """Whether a tag that is named like a tool holds parameters, or nothing because it closes itself."""
    keys = (_ATTRIBUTE.match(after), _NAMED_KEY.search(after))
    if any(key is not None and key["key"] in parameters for key in keys):
        return True
    return name[0].lower() not in _HTML and _VOID.match(after) is not None
