"""Ids of tool calls as they go out: unique over a conversation, in the form that a provider wants.

An id that is unique and has the form already is never touched: Kimi answers with made-up names
when its native ids are rewritten (sgl-project/sglang#21377), and signatures may cover them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from typing import Final, assert_never

from pyrsistent import PMap

from toolreel_core._settings.provider import IdStyle

_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OPENAI: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""OpenAI refuses ids of more than 40 characters, Anthropic's models other characters."""
_KIMI: Final = re.compile(r"functions\.[\w.-]+:\d+", re.ASCII)
_ALNUM9: Final = re.compile(r"[A-Za-z0-9]{9}")
"""Mistral's: exactly nine letters and digits (pydantic/pydantic-ai#9096)."""


def free_id(requested: str, name: str, calls: int, used_ids: PMap[str, int], style: IdStyle) -> str:
    """The id under which a call goes out: the wanted one, or the first in the style that is still free.

    :param name: the outward name of the call's tool
    :param calls: how many calls have gone out before
    :param taken: the ids that have gone out, each with how many forms of it there are so far
    """
    if requested not in used_ids and _fits(requested, style):
        return requested
    return next(form for form in _forms(requested, name, calls, used_ids, style) if form not in used_ids)


def _fits(requested: str, style: IdStyle) -> bool:
    match style:
        case "keep":
            return bool(requested)
        case "openai":
            return bool(_OPENAI.fullmatch(requested))
        case "kimi":
            return bool(_KIMI.fullmatch(requested))
        case "alnum9":
            return bool(_ALNUM9.fullmatch(requested))
        case _:
            assert_never(style)


def _forms(requested: str, name: str, calls: int, used_ids: PMap[str, int], style: IdStyle) -> Iterator[str]:
    numbers = count((used_ids.get(requested, 0)) + 1)
    match style:
        case "keep":
            return (f"{requested or 'call'}_{number}" for number in numbers)
        case "openai":
            return (f"call_{_hashed(requested, number, 24)}" for number in numbers)
        case "kimi":
            return (f"functions.{name}:{number}" for number in count(calls))
        case "alnum9":
            return (_hashed(requested, number, 9) for number in numbers)
        case _:
            assert_never(style)


def _hashed(requested: str, number: int, length: int) -> str:
    value = int.from_bytes(sha256(f"{number}:{requested}".encode("utf-8", "replace")).digest(), "big")
    letters = []
    for _ in range(length):
        value, letter = divmod(value, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)
