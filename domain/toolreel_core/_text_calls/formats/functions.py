"""The elements that are calls: ``<function=f>``, ``<invoke name="f">``, ``<xai:function_call name="f">``."""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._text_calls.decoder import Reading
from toolreel_core._text_calls.formats.elements import ATTRIBUTE, NAMESPACE, Element, attribute, element
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import Block, closers

FUNCTION: Final = re.compile(rf"<{NAMESPACE}function{ATTRIBUTE}(?:>|(?=[\s,>]*{{))", re.IGNORECASE)
"""The opener; models that are held to a grammar by nobody leave its ``>`` out."""
INVOKE: Final = re.compile(rf"<{NAMESPACE}invoke{ATTRIBUTE}>", re.IGNORECASE)
_XAI: Final = re.compile(rf"<xai:function_call{ATTRIBUTE}>", re.IGNORECASE)

_WRAPPING: Final = re.compile(
    rf"</{NAMESPACE}(?:\w{{1,20}}_)?(?:function_calls?|tool_?calls?|calls|tool|tool_use)\b[^<>\n]{{0,80}}>"
    r"|<[｜|]tool[▁_ ]call[▁_ ]end[｜|]>",
    re.IGNORECASE,
)
_GAP: Final = re.compile(r"[\s,>]*(?={)")
_FUNCTION_END: Final = closers(rf"</{NAMESPACE}function\b[^<>\n]{{0,80}}>")
_INVOKE_END: Final = closers(rf"</{NAMESPACE}invoke\b[^<>\n]{{0,80}}>")
_XAI_END: Final = closers(r"</(?:xai:)?function_?(?:call)?\b[^<>\n]{0,20}>")

_AS_XML: Final = Block(("qwen_xml", "seed_xml", "minicpm5_xml", "function_tag_json"), FUNCTION, _FUNCTION_END)
_AS_PARAM: Final = Block(("minicpm5_xml", "qwen_xml", "seed_xml"), FUNCTION, _FUNCTION_END)
_AS_JSON: Final = Block(("function_tag_json", "qwen_xml", "minicpm5_xml"), FUNCTION, _FUNCTION_END)
_GROK: Final = Block(("xai_function_call",), _XAI, _XAI_END)


def function(source: Source, start: int, _end: int) -> Reading:
    """``<function=f>`` as Qwen3-Coder, Seed and MiniCPM write it, or with JSON in it, as Llama does."""
    opening = FUNCTION.match(source.text, start)
    if opening is None:
        return None
    spelled = _AS_PARAM if re.search(r"\sname", opening[0]) else _AS_XML
    return _element(source, opening, spelled, _AS_JSON)


def invoke(source: Source, start: int, _end: int) -> Reading:
    """``<invoke name="f">`` with or without a namespace, which says whose it is."""
    opening = INVOKE.match(source.text, start)
    if opening is None:
        return None
    block = Block(_owners(opening[0]), INVOKE, _INVOKE_END)
    return _element(source, opening, block, block)


def xai(source: Source, start: int, _end: int) -> Reading:
    """Grok's ``<xai:function_call name="f">``, whose closing tag is often misspelled."""
    opening = _XAI.match(source.text, start)
    return _element(source, opening, _GROK, _GROK) if opening else None


def _element(source: Source, opening: re.Match[str], spelled: Block, body: Block) -> Reading:
    name = source.offered.named(attribute(opening))
    void = opening["rest"].rstrip().endswith("/")
    gap = _GAP.match(source.text, opening.end())
    return element(source, gap.end() if gap else opening.end(), Element(name, void, spelled, body, _WRAPPING))


def _owners(tag: str) -> tuple[str, ...]:
    if tag.startswith(("<｜", "<|")):
        return ("dsml",)
    if tag.lower().startswith("<steptml:"):
        return ("steptml",)
    return ("invoke_xml", "minimax_xml")
