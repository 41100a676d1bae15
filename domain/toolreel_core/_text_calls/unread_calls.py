"""Detection of calls, and of tagged reasoning, in a text in which no dialect was read.

Servers without a parser for their model leave its markup in the text (vllm-project/vllm#47190,
ollama/ollama#17353): the run would end as if it were an answer. No list of formats is complete, but whatever
a model invents, it has to name the tool and its arguments: the skeleton of a call is an offered name next to
an object with its parameters. It only casts suspicion, so it may be loose; the names of tools and of their
parameters keep answers in JSON and prose about tools out of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from pyrsistent import pmap

from toolreel_core._jsontext import (
    Json,
    SearchedText,
    Style,
    Value,
    as_tree,
    end_of_blanks,
    members_at,
    tree_at,
    value_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Made, Offered, Source
from toolreel_core._text_calls.dialects import BARE, WHOLE
from toolreel_core._text_calls.markers import OPENERS, SPECIAL
from toolreel_core._text_calls.parse import text_calls
from toolreel_core._text_calls.payloads import decode_json
from toolreel_core._text_calls.quotations import Quotations

_REACH = 300
"""Characters around a name in which the rest of its call has to begin."""
# More than the longest key before a name has: `"recipient_name": "functions.`.
_KEY_REACH = 40
_KEYED = lazy_pattern(
    r"""(?:(?:name|tool|tool_name|function|recipient_name|action)["']?\s*(?::|=>|=)|to=)"""
    r"""\s*["']?(?:functions\.)?\Z""",
    re.IGNORECASE,
)
_ARGUMENTS = lazy_pattern(
    r"""["']?\b(?:arguments|parameters|args|input|kwargs|action_input)["']?\s*(?::|=>|=)\s*["']?\{""",
    re.IGNORECASE,
)
"""A key that models use for arguments, up to the brace of its object."""
_OBJECT = lazy_pattern(
    r"""(?:["'\s>\]),:=*`\u2192-]|:\d+|<[^<>{}\n]{0,60}>|(?:with|arguments|parameters|args|input|json)\b){0,20}"""
    r"""(?P<bracket>\(\s*\{|[{(])\s*["']?(?:--)?(?P<key>[\w-]{1,100})["']?\s*[:="']""",
    re.IGNORECASE,
)
"""An object or a list of keywords behind the name, up to its first key."""
_NAMED = lazy_pattern(
    r"""(?:\b(?:name|tool|function|invoke)["']?\s*+[:=]\s*+["']?|\bto=|<\|?tool_call\|?>\s*+(?:call:)?)"""
    r"(?P<name>[A-Za-z_][\w.-]{0,63})",
    re.IGNORECASE,
)
"""The name of a tool that is not offered, in a call that could not be read."""
_FLAT = lazy_pattern(r"""["']\s*,\s*["'](?P<key>[\w-]{1,100})["']\s*:""")
"""The key behind a name, in an envelope with the arguments next to the name."""
_NAMED_KEY = lazy_pattern(
    r"""(?:<|name\s*=\s*["']?|parameter\s*=\s*["']?|["'])(?P<key>[\w-]{1,100})["']?\s*[>:=]"""
)
_ATTRIBUTE = lazy_pattern(r"""[^<>]{0,200}?\s(?P<key>[\w-]{1,100})\s*=""")
_MOST = 16
"""The most calls that a report is compared with: each may hold a long text."""
_WORD = lazy_pattern(r"\w[\w-]*+(?:\.[\w-]++)*")
_LABEL = lazy_pattern(
    r"tools?|call(?:s|ing|ed)?|functions?|name|(?:action_)?input|action|use|using|with|invoke|invoking"
    r"|arguments|args|parameters|params|json",
    re.IGNORECASE,
)
"""A word that labels a part of a call, and says nothing else."""
# Prose writes `f()` for a function, so an empty call has to end its line.
_EMPTY = lazy_pattern(r"\(\s*+(?:\{\s*+\}\s*+)?\)[ \t]*+;?[ \t]*+(?:\n|\Z)")
_LAST_BLOCK = lazy_pattern(r"\n[ \t]*+```[\w-]{0,40}+[ \t]*+\n(?P<body>\s*+\{[^`]++)```\s*+\Z")
_WORDS = lazy_pattern(r"\w\s+\w+\s*\Z")
"""Two words before a name: it is in a sentence."""
_MORE = lazy_pattern(r"\W{0,3}\s\w+\s\w")
"""Words after a name: the sentence continues."""
_REST_OF_LINE = lazy_pattern(".*")
_END = lazy_pattern(r"</([\w.-]{1,100})>")
_VOID = lazy_pattern(r"\s*/>")
_HEAD_OF_LINE = lazy_pattern(r"(?:\A|\n)[ \t\[]*(?:print\()?(?:functions\.|default_api\.)?\Z")
"""The start of a line, with what models put before a call in Python."""
_HTML = lazy_pattern(
    "a|abbr|address|area|article|aside|audio|b|base|body|br|button|canvas|caption|cite|code|col|data|del"
    "|details|dialog|div|em|embed|figure|footer|form|frame|h1|h2|head|header|hr|html|i|iframe|image|img|input"
    "|ins|kbd|label|li|link|main|map|mark|menu|meta|meter|nav|object|ol|option|output|p|param|path|picture|pre"
    "|progress|q|s|script|search|section|select|slot|small|source|span|strong|style|sub|summary|sup|svg|table"
    "|tbody|td|template|text|textarea|th|time|title|tr|track|u|ul|use|var|video|wbr",
    re.IGNORECASE,
)
"""Elements of HTML, whose tags alone say nothing of a tool with the same name."""


def words_without_labels(text: str) -> list[str]:
    """The words of a text, in small letters, without those that only label the parts of a call."""
    return [word.lower() for word in _WORD.findall(text) if not _LABEL.fullmatch(word)]


def has_call_skeleton(
    text: str, known: Collection[str], schemas: Mapping[str, Json], made: Made | None = None
) -> bool:
    """Whether a tool is named next to its arguments, other than in a report of calls that were made."""
    ends = {tag[1]: tag.start() for tag in _END.finditer(text)}
    brackets = (
        (name, _start_of_arguments(text, name, tree_at(schemas, name[0], "properties"), ends))
        for name in _name_pattern(frozenset(known)).finditer(text)
    )
    skeletons = ((name, bracket) for name, bracket in brackets if bracket is not None)
    if made is None:
        return any(skeletons)
    reported = [*islice(skeletons, _MOST + 1)]
    return len(reported) > _MOST or (bool(reported) and not _reports_made_calls(text, reported, made))


def _reports_made_calls(text: str, skeletons: Sequence[tuple[re.Match[str], int]], made: Made) -> bool:
    """Whether these calls, each a name and the start of its arguments, were made, and stand in words.

    :param skeletons: the name of each, and where its arguments seem to begin
    """
    source, at = SearchedText(text), 0
    words: list[str] = []
    for name, bracket in skeletons:
        inner = end_of_blanks(source, bracket + 1)
        if text.startswith("(", bracket) and not text.startswith("{", inner):  # keywords
            given = members_at(source, bracket + 1, ")", Style(colons=":="))
        else:
            given = value_at(source, inner if text.startswith("(", bracket) else bracket)
        if not isinstance(given, Value) or not isinstance(given.tree, Mapping):
            return False
        if not made(name[0], given.tree):
            return False
        words += (text[at : name.start()], text[name.end() : bracket])
        at = max(at, given.end)
    words.append(text[at:])
    return len({*words_without_labels(" ".join(words))}) > 1


def has_tool_name_before_fence(text: str, known: Collection[str], schemas: Mapping[str, Json]) -> bool:
    r"""Whether a text ends with a line that only names a tool, and a block of code with its arguments."""
    block = _LAST_BLOCK.search(text)
    if block is None:
        return False
    words = _WORD.findall(text[: block.start()].rstrip().rpartition("\n")[2])
    named = [word for word in words if not _LABEL.fullmatch(word)]
    given = as_tree(decode_json(block["body"].strip()))
    return (
        len(named) == 1
        and named[0] in known
        and bool(given)
        and given.keys() <= tree_at(schemas, named[0], "properties").keys()
    )


def tool_name_in_text(text: str, known: Collection[str]) -> str:
    """The name of the tool that an unread call is for, as far as it has one."""
    found = _name_pattern(frozenset(known)).search(text)
    if found:
        return found[0]
    other = _NAMED.search(text)
    return other["name"] if other else "unknown"


@lru_cache(maxsize=64)
def _name_pattern(known: frozenset[str]) -> re.Pattern[str]:
    # Longest first: of `files` and `files.read`, the first alternative that matches counts.
    words = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True)) or "(?!)"
    ends = r"(?:(?![\w-])|(?=json\s*\{))"  # without the tokens of Harmony, the type is glued to the name
    return re.compile(rf"(?<![\w-])(?:{words}){ends}")


def _start_of_arguments(
    text: str, name: re.Match[str], parameters: Mapping[str, Json], ends: Mapping[str, int]
) -> int | None:
    """Where the arguments of a call that has this name seem to begin; ``None`` if it is not a call."""
    before = text[max(0, name.start() - _REACH) : name.start()]
    after = text[name.end() : name.end() + _REACH]
    if _KEYED.search(before[-_KEY_REACH:]):
        if _is_in_a_sentence(text, name.start()):
            return None
        if _has_arguments_beside_name(before, after, parameters):
            return name.end() + max(0, after.find("{"))
    if before.endswith(("<", "</")):
        is_element = _is_tool_call_element(name, after, parameters) or (
            not _HTML.fullmatch(name[0]) and ends.get(name[0], -1) >= name.start() - len("</")
        )
        return name.end() if is_element else None
    beside = _OBJECT.match(after)
    begins_line = _HEAD_OF_LINE.search(before) is not None
    if beside is None:
        return name.end() if begins_line and _EMPTY.match(after) else None
    begins_with_object = begins_line and beside["bracket"] not in {"{", "("}
    known = beside["key"] in parameters and (beside["bracket"] != "(" or begins_line)
    return name.end() + beside.start("bracket") if known or begins_with_object else None


def _has_arguments_beside_name(before: str, after: str, parameters: Mapping[str, Json]) -> bool:
    """Whether a name under a key such as ``name`` has its arguments next to it."""
    if _ARGUMENTS.search(before) or _ARGUMENTS.search(after):
        return True
    flat = _FLAT.match(after)
    keys = _NAMED_KEY.finditer(after) if before.rstrip("\"' ").endswith("=") else [flat]
    return any(key is not None and key["key"] in parameters for key in keys)


def _is_in_a_sentence(text: str, at: int) -> bool:
    """Whether an object has words of a sentence before and behind it: it is talked about, not called."""
    # A sentence that leads in to a call ends with a colon, and nothing follows a call on its line.
    lead, brace, _ = text[text.rfind("\n", 0, at) + 1 : at].partition("{")
    if not brace or not _WORDS.search(lead):
        return False
    rest = _REST_OF_LINE.match(text, at)
    return rest is not None and _MORE.match(rest[0].rpartition("}")[2]) is not None


def _is_tool_call_element(name: re.Match[str], after: str, parameters: Mapping[str, Json]) -> bool:
    """Whether a tag that is named like a tool holds parameters, or nothing because it closes itself."""
    keys = (_ATTRIBUTE.match(after), _NAMED_KEY.search(after))
    if any(key is not None and key["key"] in parameters for key in keys):
        return True
    return not _HTML.fullmatch(name[0]) and _VOID.match(after) is not None


_NO_SCHEMAS: Mapping[str, Json] = pmap()
_OPENING = {"channel", "message", "addressed", "content"}
"""Openers that also precede ordinary text, and so prove nothing."""
_PREFIX = r"(?:\w{1,20}[:_|])?"
_LEFT = (
    r"<\|(?:tool_call|action_start|(?:open|close)\|>)|<tool_call\||to=functions\.\w"
    r"|<[/\W]{0,4}(?:DSML|GCML)\W|<[|\uff5c\u2016]{1,2}tool|\[/?TOOL_CALLS?\]"
    rf"|</?{_PREFIX}(?:arg_key|arg_value|tool_?calls?|tool_use|function_?calls?|invoke)(?:[\s:][^<>\n]{{0,200}})?>"
    r"|<(?:param|parameter)\s*=|</(?:param|parameter)>\s*</(?:function|invoke)\b"
    r"|<\|channel\|>commentary[^<>]{0,100}(?:<\|constrain\|>\w{0,20})?<\|message\|>\s*\{"
)
"""Markup that remains of a call when a server has removed its opener, and markup around calls."""
_CLOSER = lazy_pattern(r"</[^<>\s]{1,60}>\s*")
_CALL_END = (
    rf"</{_PREFIX}(?:param(?:eter)?|function(?:_?calls?)?|invoke|tool_?calls?|tool_use|arg_key|arg_value)"
    r"(?::[^<>\s]{1,40})?\s?>|<\|(?:call|tool_call_end|tool_calls_section_end|/tool_call)\|>|<tool_call\|>"
    r"|<[|\uff5c]tool[▁_ ]calls?[▁_ ]end[|\uff5c]>|\[/TOOL_CALLS?\]"
)
_MARKUP = lazy_pattern(
    "|".join([_LEFT, *(opener.pattern for key, opener in OPENERS.items() if key not in _OPENING)]),
    re.IGNORECASE,
)
_END_MARKER = lazy_pattern(rf"(?P<call>{_CALL_END})|{SPECIAL.pattern}", re.IGNORECASE)
# Characters of the longest marker that `_END_MARKER` matches.
_LONGEST_MARKER = 80
# One of these is in each skeleton of a call.
_SIGNS = ("{", "=", "<", "()")
_IN_SENTENCE = lazy_pattern(r"[^\s.!?:;,)}\]'\"”。>][ \t]\Z|[(\[{]\s?\Z")
"""What stands before a marker that a sentence names: a blank without the end of a sentence, or a bracket."""


def looks_like_a_call(
    text: str,
    known: Collection[str],
    schemas: Mapping[str, Json] = _NO_SCHEMAS,
    made: Made | None = None,
) -> bool:
    """Whether a text has call markup or the skeleton of a call outside of code, or is a call as a whole.

    :param made: the calls that a text may report in words, without their markup
    """
    outside = Quotations.of(Source(text, Offered(frozenset()), frozenset(), cut=False)).text_outside()
    if (
        has_call_markup(outside)
        or (any(sign in outside for sign in _SIGNS) and has_call_skeleton(outside, known, schemas, made))
        or has_tool_name_before_fence(text, known, schemas)
    ):
        return True
    if not text.lstrip().startswith(WHOLE):
        return False
    return bool(text_calls(text, tools=known, dialects=BARE, finish="stop").calls)


def has_call_markup(outside: str) -> bool:
    # Closing tags at the end of a plain answer are noise.
    end = len(outside)
    while _CLOSER.fullmatch(outside, begin := max(0, outside.rfind("<", 0, end)), end):
        end = begin
    return bool(_MARKUP.search(outside[:end]) or _split_end_markers(outside)[1])


def without_end_markers(text: str) -> str:
    """An answer without the control tokens and the closing tags of calls at its end, unless in a sentence."""
    return _split_end_markers(text)[0]


def _split_end_markers(text: str) -> tuple[str, bool]:
    """An answer without the markers at its end, and whether they end a call whose beginning is lost."""
    # That is so if there are two closing tags, or one behind an object.
    closers = set[str]()
    end = whole = len(text.rstrip())
    while last := _last_marker(text, end):
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
    return rest if end < whole else text, lost


def _last_marker(text: str, end: int) -> re.Match[str] | None:
    """The marker that a part of a text ends with; only where a sign may begin one is a pattern tried."""
    start, least = end, max(0, end - _LONGEST_MARKER)
    while (start := max(text.rfind(sign, least, start) for sign in "<[]")) >= 0:
        if last := _END_MARKER.fullmatch(text, start, end):
            return last
    return None
