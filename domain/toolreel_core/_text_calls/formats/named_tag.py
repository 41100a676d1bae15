"""``<tool name="f">`` and ``<tool_call name="f">`` around the arguments, as one JSON object.

The attribute names an offered tool, so a key ``name`` in the body is an argument. Only a call with its own
closing tag is certain.
"""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source
from toolreel_core._text_calls.json_payload import Block, arguments, closers, skip_blanks
from toolreel_core._text_calls.unbalanced_tags import whole

_QUOTED: Final = r"""(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}')"""
NAMED_TAG: Final = rf"<tool(?:_call)?(?:\s+(?:name|id)\s*=\s*{_QUOTED}){{1,2}}\s*>(?=\s*{{)"
"""The opening tag, before an object."""

_TAG: Final = re.compile(r"<(\w+)")
"""The name in an opening tag."""
_ATTRIBUTE: Final = re.compile(rf"(?<!\w)(?P<key>\w++)\s*+=\s*+(?P<value>{_QUOTED})")
"""An attribute, which is an argument here."""
_BLOCKS: Final = {
    tag: Block(
        ("invoke_xml", "hermes_json"), re.compile(rf"<{tag}\b", re.IGNORECASE), closers(rf"</{tag}\s*>")
    )
    for tag in ("tool", "tool_call")
}
_LEFT: Final = {
    tag: re.compile(rf"(?P<opens><{tag}\b)|</{tag}\s*>", re.IGNORECASE) for tag in ("tool", "tool_call")
}
"""Tags that are left behind a call that was cut, by the name of the tag."""
_CLOSED: Final = re.compile(r"</tool(?:_call)?\s*>\Z", re.IGNORECASE)
"""The closing tag at the end of a call."""


def named_tag(source: Source, start: int, end: int) -> Reading:
    """The call of an offered tool that an attribute names; one of another tool is no call."""
    opening = source.text[start:end]
    given = [(found["key"].lower(), found["value"][1:-1]) for found in _ATTRIBUTE.finditer(opening)]
    attributes = dict(given)
    name = source.offered.named(attributes.get("name", ""))
    if name not in source.offered.names or len(attributes) < len(given):
        return None
    tag = _TAG.findall(opening)[0].lower()
    begin = skip_blanks(source.text, end)
    reading = arguments(source, begin, name, _BLOCKS[tag], attributes.get("id", ""))
    if isinstance(reading, Calls) and not _CLOSED.search(source.text[begin : reading.end][-80:]):
        return Broken("truncated" if source.cut else "malformed", reading.end)
    return whole(source, reading, _LEFT[tag])
