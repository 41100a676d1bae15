"""Text that is nearly JSON, as models write it, made into JSON; never by completing what was cut.

Each function here changes the notation of a whole payload and leaves its values alone. None adds
a bracket or a quote that would close something, and none returns text that was cut inside a string
or a comment, so what was cut stays unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json.encoder import encode_basestring_ascii
from typing import Final

__all__ = [
    "is_cut",
    "keys_quoted",
    "mended",
    "without_fence",
    "without_tokens",
    "without_tokens_behind_fence",
]

_TOKEN: Final = re.compile(
    r'"(?P<double>(?:[^"\\]++|\\.)*+)"'
    r"|'(?P<single>(?:[^'\\]++|\\.)*+)'"
    r"|(?P<comment>//[^\n]*+|\#[^\n]*+|/\*.*?\*/)"
    r"|(?P<word>[A-Za-z_$][\w$]*+)"
    r"""|(?P<open>["']|/\*)""",
    re.DOTALL,
)
_COMMA: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]\s*+,|(?P<trailing>,)(?=\s*[}\]])', re.DOTALL)
"""A comma before a closing bracket, but none that stands where a value is missing."""
_KEY: Final = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|(?P<before>[{,]\s*+)(?P<key>[A-Za-z_$][\w$]*+)(?=\s*:)', re.DOTALL
)
_IN_SINGLE: Final = re.compile(
    r"""\\(?:x(?P<byte>[0-9a-fA-F]{2})|U(?P<point>[0-9a-fA-F]{8})|.)|["\x00-\x1f]""", re.DOTALL
)
_CONTROL: Final = re.compile(r"\\.|[\x00-\x1f]", re.DOTALL)
_FENCE: Final = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[\w+-]*+\s?(?P<body>.*)(?P=fence)", re.DOTALL)
_OPEN_FENCE: Final = re.compile(r"\s*+(?:```|~~~)")
_TOKENS: Final = re.compile(r"(?:\s*+(?:<[^<>\s\"'{}]{1,64}+>|\[/?[A-Z_]{2,32}+\]))++\s*+")
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<closed>"?)|(?P<up>[\[{])|(?P<down>[\]}])', re.DOTALL)

_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_LARGEST: Final = 0x10FFFF


def mended(text: str) -> str:
    r"""The text without trailing commas and comments, with quotes, words and control characters as in JSON.

    >>> mended("{'part': 'pin', 'urgent': True,} # now")
    '{"part": "pin", "urgent": true} '
    >>> mended("{'part': 'pi")
    "{'part': 'pi"
    """
    pieces, end = list[str](), 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            return text
        pieces += (text[end : token.start()], _in_json(token))
        end = token.end()
    pieces.append(text[end:])
    return _COMMA.sub(lambda found: "" if found["trailing"] else found[0], "".join(pieces))


def keys_quoted(text: str) -> str:
    """The text with quotes around the keys that have none.

    >>> keys_quoted('{part: "pin: red", n:1}')
    '{"part": "pin: red", "n":1}'
    """
    return _KEY.sub(lambda found: f'{found["before"]}"{found["key"]}"' if found["key"] else found[0], text)


def without_fence(text: str) -> str:
    """What stands in a code fence that is all of the text.

    >>> without_fence("```json {} ```")
    '{}'
    """
    fenced = _FENCE.fullmatch(text.strip())
    return fenced["body"].strip() if fenced else text


def without_tokens(text: str) -> str:
    """Nothing, if there is nothing but control tokens of a model, else the text.

    >>> without_tokens(" <|tool_call_end|></s>"), without_tokens(" and more")
    ('', ' and more')
    """
    return "" if _TOKENS.fullmatch(text) else text


def without_tokens_behind_fence(text: str) -> str:
    """The text without control tokens that follow the end of a code fence.

    >>> without_tokens_behind_fence("``` {} ```<|im_end|>")
    '``` {} ```'
    """
    fence = max(text.rfind("```"), text.rfind("~~~")) + 3
    return text[:fence] if fence > 2 and _TOKENS.fullmatch(text, fence) else text


def is_cut(text: str) -> bool:
    """Whether JSON text, or the code fence around it, stops before it is closed; no text at all does.

    >>> is_cut('{"part": "pi'), is_cut('{"part": pin}')
    (True, False)
    """
    if _OPEN_FENCE.match(text) and without_fence(text) == text:
        return True
    depth = 0
    for token in _STRUCTURE.finditer(text):
        if token["closed"] == "":
            return True
        depth += bool(token["up"]) - bool(token["down"])
    return depth > 0 or not text.strip()


def _in_json(token: re.Match[str]) -> str:
    """A string or a word as JSON writes it; nothing for a comment."""
    match token.lastgroup:
        case "double":
            return f'"{_CONTROL.sub(_escaped, token["double"])}"'
        case "single":
            return f'"{"".join(_of_single(token["single"]))}"'
        case "word":
            return _WORDS.get(token[0], token[0])
        case _:
            return ""


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("\\") else encode_basestring_ascii(found[0])[1:-1]


def _of_single(content: str) -> Iterator[str]:
    """The content of a Python string, piece by piece, with the escapes of JSON."""
    end = 0
    for found in _IN_SINGLE.finditer(content):
        yield content[end : found.start()]
        end = found.end()
        code = int(found["byte"] or found["point"] or "0", 16)
        if found["byte"] or (found["point"] and code <= _LARGEST):
            yield encode_basestring_ascii(chr(code))[1:-1]
        elif found[0] == "\\'":
            yield "'"
        elif found[0].startswith("\\"):
            yield found[0]
        else:
            yield encode_basestring_ascii(found[0])[1:-1]
    yield content[end:]
