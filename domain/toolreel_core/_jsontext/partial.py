r"""The value of JSON text that is still being written: what is there so far, closed where it is open.

It is for showing only. Nothing that runs or ends a run reads truncated text.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext.canonical import MAX_DEPTH, Json, either, read
from toolreel_core._lazy_pattern import lazy_pattern

# A string that is still open matches without its quote. Possessive: text from outside must not backtrack.
_TOKEN: Final = lazy_pattern(
    r'(?P<string>"(?:[^"\\]++|\\.)*+(?:(?P<quote>")|\\?))|(?P<opener>[\[{])|(?P<closer>[\]}])'
    r"|(?P<comma>,)|(?P<colon>:)|(?P<scalar>[^\s\[\]{},:\"]++)|\s++",
    re.DOTALL,
)
_FENCE: Final = lazy_pattern(r"\s*+(?:`{3,}+|~{3,}+)[\w+-]*+[ \t]*+\n")
"""The opening line of a code block around the JSON."""
# JSON begins here, or, behind words, with the first brace.
_START: Final = lazy_pattern(r'\s*+(?=[\[{"\d-])|[^{]*+(?=\{)')
# An escape that is not whole, and the first half of a pair of escapes.
_CUT_ESCAPE: Final = lazy_pattern(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|u[0-9a-fA-F]{0,3}|)\Z"
)
_CLOSERS: Final = {"[": "]", "{": "}"}

_Expected: TypeAlias = Literal["value", "item", "key", "name", "colon", "comma"]
"""What comes next: a value; a value or ``]``; a key; a key or ``}``; a colon; a comma or a closer."""


def partial_value(text: str, *, max_depth: int = MAX_DEPTH) -> Json:
    """The value of JSON text so far; ``None`` if there is none yet, or the text is not JSON.

    A string that is open ends where the text does. An open number or word and a key without a value are left
    out, since they may become something else: ``1`` may become ``12``.

    >>> partial_value('{"title": "Pins and sh'), partial_value('{"n": 12, "tags": ["a", "b')
    ({'title': 'Pins and sh'}, {'n': 12, 'tags': ['a', 'b']})
    >>> partial_value('{"n": 1'), partial_value('Here you are: {"n": 1, ')
    ({}, {'n': 1})
    """
    fence = _FENCE.match(text)
    body = text[fence.end() :] if fence else text
    whole = either(read(body, max_depth=max_depth).map(lambda value: (value,)).alt(lambda _: None))
    if whole is not None:
        return whole[0]
    start = _START.match(body)
    closed = None if start is None else _Prefix(body[start.end() :], max_depth).closed()
    if closed is None:
        return None
    return either(read(closed, max_depth=max_depth).alt(lambda _: None))


class _Prefix:
    """The longest beginning of a text that closers make a JSON value."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth
        self.expected: _Expected = "value"
        self.stack: list[str] = []
        self.best: str | None = None

    def closed(self) -> str | None:
        """The beginning with its closers."""
        at = 0
        while token := _TOKEN.match(self.text, at):
            at = token.end()
            if not self._accept_token(token):
                break
        return self.best

    def _accept_token(self, token: re.Match[str]) -> bool:
        """Whether a token may stand here, and the text may go on behind it."""
        if token["string"] is not None:
            return self._accept_string(token)
        if token["opener"]:
            return self._accept_opener(token)
        if token["closer"]:
            return self._accept_closer(token)
        if token["scalar"]:
            return self._accept_scalar(token)
        if token["comma"]:
            return self._move_to("comma", "key" if self.stack and self.stack[-1] == "{" else "value")
        return self._move_to("colon", "value") if token["colon"] else True

    def _move_to(self, here: _Expected, then: _Expected) -> bool:
        if self.expected != here:
            return False
        self.expected = then
        return True

    def _accept_string(self, token: re.Match[str]) -> bool:
        if self.expected in {"key", "name"}:
            self.expected = "colon"
            return bool(token["quote"])
        if not self._expects_value():
            return False
        if token["quote"]:
            return self._end_value(token.end())
        self.best = _CUT_ESCAPE.sub("", self.text) + '"' + self._missing_closers()
        return False

    def _accept_opener(self, token: re.Match[str]) -> bool:
        if not self._expects_value() or len(self.stack) >= self.max_depth:
            return False
        self.stack.append(token["opener"])
        self._end_value(token.end())
        self.expected = "item" if token["opener"] == "[" else "name"
        return True

    def _accept_closer(self, token: re.Match[str]) -> bool:
        fits = bool(self.stack) and _CLOSERS[self.stack[-1]] == token["closer"]
        if not fits or self.expected not in {"comma", "item", "name"}:
            return False
        self.stack.pop()
        return self._end_value(token.end())

    def _accept_scalar(self, token: re.Match[str]) -> bool:
        is_open = token.end() == len(self.text)
        if (
            is_open
            or not self._expects_value()
            or not read(token["scalar"]).map(lambda _: True).value_or(False)
        ):
            return False
        return self._end_value(token.end())

    def _expects_value(self) -> bool:
        return self.expected in {"value", "item"}

    def _end_value(self, end: int) -> bool:
        """Note that a value ends here; what follows the outermost one is not JSON."""
        self.best, self.expected = self.text[:end] + self._missing_closers(), "comma"
        return bool(self.stack)

    def _missing_closers(self) -> str:
        return "".join(_CLOSERS[opener] for opener in reversed(self.stack))
