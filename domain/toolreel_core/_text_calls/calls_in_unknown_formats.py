"""The skeleton of a call in a text of any format: an offered name next to an object with its parameters.

No list of formats is complete, but whatever a model invents, it has to name the tool and its arguments. The
skeleton only casts suspicion, so it may be loose; the names of tools and of their parameters keep answers in
JSON and prose about tools out of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from toolreel_core._jsontext import Json, SearchedText, Style, Value, members_at, skip, tree_at, value_at
from toolreel_core._text_calls.decoder_interface import Made, never_made

_REACH: Final = 300
"""Characters around a name in which the rest of its call has to begin."""
_KEY_REACH: Final = 40
_KEYED: Final = re.compile(
    r"""(?:(?:name|tool|tool_name|function|recipient_name|action)["']?\s*(?::|=>|=)|to=)"""
    r"""\s*["']?(?:functions\.)?\Z""",
    re.IGNORECASE,
)
"""What stands before the name in an envelope or an attribute."""
_ARGUMENTS: Final = re.compile(
    r"""["']?\b(?:arguments|parameters|args|input|kwargs|action_input)["']?\s*(?::|=>|=)\s*["']?\{""",
    re.IGNORECASE,
)
"""A key that models use for arguments, up to the brace of its object."""
_OBJECT: Final = re.compile(
    r"""(?:["'\s>\]),:=*`\u2192-]|:\d+|<[^<>{}\n]{0,60}>|(?:with|arguments|parameters|args|input|json)\b){0,20}"""
    r"""(?P<bracket>\(\s*\{|[{(])\s*["']?(?:--)?(?P<key>[\w-]{1,100})["']?\s*[:="']""",
    re.IGNORECASE,
)
"""An object or a list of keywords behind the name, up to its first key."""
_NAMED: Final = re.compile(
    r"""(?:\b(?:name|tool|function|invoke)["']?\s*+[:=]\s*+["']?|\bto=|<\|?tool_call\|?>\s*+(?:call:)?)"""
    r"(?P<name>[A-Za-z_][\w.-]{0,63})",
    re.IGNORECASE,
)
"""The name of a tool that is not offered, in a call that could not be read."""
_FLAT: Final = re.compile(r"""["']\s*,\s*["'](?P<key>[\w-]{1,100})["']\s*:""")
"""The key after the name in an object without a key for the arguments."""
_NAMED_KEY: Final = re.compile(
    r"""(?:<|name\s*=\s*["']?|parameter\s*=\s*["']?|["'])(?P<key>[\w-]{1,100})["']?\s*[>:=]"""
)
"""A parameter's name as a tag, an attribute or a key."""
_ATTRIBUTE: Final = re.compile(r"""[^<>]{0,200}?\s(?P<key>[\w-]{1,100})\s*=""")
"""A parameter as an attribute of the tag with the tool's name; the length is bounded, for speed."""
_MOST: Final = 16
"""The most calls that a report is compared with: each may hold a long text."""
_WORD: Final = re.compile(r"\w[\w.-]*+")
# fmt: off
LABELS: Final = frozenset({
    "tool", "tools", "call", "calls", "calling", "called", "function", "functions", "name", "action", "use",
    "using", "with", "invoke", "invoking", "arguments", "args", "parameters", "params", "input",
    "action_input", "json",
})
# fmt: on
"""Words that label the parts of a call, and say nothing else."""
_EMPTY: Final = re.compile(r"\(\s*+(?:\{\s*+\}\s*+)?\)[ \t]*+;?[ \t]*+(?:\n|\Z)")
"""A call without arguments, to the end of its line."""
_LAST_BLOCK: Final = re.compile(r"\n[ \t]*+```[\w-]{0,40}+[ \t]*+\n(?P<body>\s*+\{[^`]++)```\s*+\Z")
"""The block of code at the end of a text, with an object in it."""
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


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """A tool's name, and where its arguments seem to begin."""

    name: re.Match[str]
    bracket: int


def has_skeleton(
    text: str, known: Collection[str], schemas: Mapping[str, Json], made: Made = never_made
) -> bool:
    """Whether a tool is named next to its arguments, other than in a report of calls that were made.

    >>> add = {"properties": {"a": {"type": "integer"}}}
    >>> has_skeleton("Now add => {a: 1}", ["add"], {"add": add})
    True
    >>> has_skeleton('{"add": {"total": 1}}, so add it up (twice).', ["add"], {"add": add})
    False
    >>> has_skeleton(
    ...     'I called add with {"a": 1}: 2.', ["add"], {"add": add}, lambda name, given: given == {"a": 1}
    ... )
    False
    """
    skeletons = _skeletons(text, known, schemas)
    reported = [*islice(skeletons, 1)] if made is never_made else [*islice(skeletons, _MOST + 1)]
    return bool(reported) and (len(reported) > _MOST or not _is_report(text, reported, made))


def _skeletons(text: str, known: Collection[str], schemas: Mapping[str, Json]) -> Iterator[_Skeleton]:
    names = _names(frozenset(known))
    if names is None:
        return
    ends = {tag[1]: tag.start() for tag in _END.finditer(text)}
    for name in names.finditer(text):
        bracket = _arguments(text, name, tree_at(schemas, name[0], "properties"), ends)
        if bracket is not None:
            yield _Skeleton(name, bracket)


def _is_report(text: str, skeletons: Sequence[_Skeleton], made: Made) -> bool:
    """Whether all of these calls were made, and stand in words."""
    source, at = SearchedText(text), 0
    words: list[str] = []
    for skeleton in skeletons:
        given = _given(source, skeleton.bracket)
        if given is None or not isinstance(given.tree, Mapping) or not made(skeleton.name[0], given.tree):
            return False
        words.append(text[at : skeleton.name.start()])
        words.append(text[skeleton.name.end() : skeleton.bracket])
        at = max(at, given.end)
    words.append(text[at:])
    said = {word.lower() for word in _WORD.findall(" ".join(words))}
    return len(said - LABELS) > 1


def _given(source: SearchedText, bracket: int) -> Value | None:
    """The arguments behind a bracket, as JSON or as keywords."""
    text = source.text
    inner = skip(source, bracket + 1)
    if text.startswith("(", bracket) and not text.startswith("{", inner):
        given = members_at(source, bracket + 1, ")", Style(colons=":="))
    else:
        given = value_at(source, inner if text.startswith("(", bracket) else bracket)
    return given if isinstance(given, Value) else None


def named_before_fence(text: str, known: Collection[str], schemas: Mapping[str, Json]) -> bool:
    r"""Whether a text ends with a line that only names a tool, and a block of code with its arguments.

    >>> add = {"properties": {"a": {"type": "integer"}}}
    >>> named_before_fence('**add**\n```json\n{"a": 1}\n```', ["add"], {"add": add})
    True
    """
    block = _LAST_BLOCK.search(text)
    if block is None:
        return False
    words = _WORD.findall(text[: block.start()].rstrip().rpartition("\n")[2])
    named = [word for word in words if word.lower() not in LABELS]
    value = value_at(SearchedText(block["body"]), 0)
    if len(named) != 1 or named[0] not in known or not isinstance(value, Value):
        return False
    given, parameters = value.tree, tree_at(schemas, named[0], "properties")
    return isinstance(given, Mapping) and bool(given) and given.keys() <= parameters.keys()


def name_in(text: str, known: Collection[str]) -> str:
    """The name of the tool that an unread call is for, as far as it has one.

    >>> name_in('<tool_call>{"name": "add", "arguments": {', ["add"]), name_in("<function=sum>", ["add"])
    ('add', 'sum')
    """
    names = _names(frozenset(known))
    found = names.search(text) if names else None
    if found:
        return found[0]
    other = _NAMED.search(text)
    return other["name"] if other else "unknown"


@lru_cache(maxsize=64)
def _names(known: frozenset[str]) -> re.Pattern[str] | None:
    words = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True) if name)
    ends = r"(?:(?![\w-])|(?=json\s*\{))"  # without the tokens of Harmony, the type is glued to the name
    return re.compile(rf"(?<![\w-])(?:{words}){ends}") if words else None


def _arguments(
    text: str, name: re.Match[str], parameters: Mapping[str, Json], ends: Mapping[str, int]
) -> int | None:
    """Where the arguments of a call that has this name seem to begin; ``None`` if it is no call."""
    before = text[max(0, name.start() - _REACH) : name.start()]
    after = text[name.end() : name.end() + _REACH]
    if _KEYED.search(before, max(0, len(before) - _KEY_REACH)):
        if _is_in_a_sentence(text, name.start()):
            return None
        if _is_envelope(before, after, parameters):
            brace = _ARGUMENTS.search(after)
            return name.end() + (brace.end() - 1 if brace else max(0, after.find("{")))
    if before.endswith(("<", "</")):
        is_element = _is_element(name, after, parameters) or (
            name[0].lower() not in _HTML and ends.get(name[0], -1) >= name.start() - len("</")
        )
        return name.end() if is_element else None
    beside = _OBJECT.match(after)
    begins_line = _HEAD_OF_LINE.search(before) is not None
    if beside is None:
        return name.end() if begins_line and _EMPTY.match(after) else None
    begins_with_object = begins_line and beside.start("bracket") == 0 and beside["bracket"] not in {"{", "("}
    known = beside["key"] in parameters and (beside["bracket"] != "(" or begins_line)
    return name.end() + beside.start("bracket") if known or begins_with_object else None


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
