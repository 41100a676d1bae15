"""The interface of the decoders of text calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolreel_core._jsontext import (
    Json,
    JsonText,
    SearchedText,
    Tree,
    as_tree,
    canonical,
    json_type,
    list_at,
    read_json,
    tree_at,
)
from toolreel_core._schema import inline_references

# The input of a decoder and its result.
#
# A decoder makes a :class:`Reading` of a :class:`Source` from an opener on, or ``None`` of ordinary text: a
# marker without a well-formed call after it is prose.


_NAMESPACES = ("functions.", "default_api.", "default_api:")
"""Prefixes that OpenAI's and Google's models put before tool names."""


@dataclass(frozen=True, slots=True)
class Offered:
    names: frozenset[str]
    schemas: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The JSON Schema of each tool's arguments; a tool may be without one."""
    _inlined: dict[str, Tree] = field(default_factory=dict[str, Tree], init=False, compare=False, repr=False)
    """The schemas without references, as far as one of their parameters was read."""

    def resolve_name(self, raw: str) -> str:
        """The tool that a name means, without quotes, and without a namespace if the rest exists."""
        name = raw.strip(" \t\r\n\"'`")
        for namespace in _NAMESPACES:
            if (rest := name.removeprefix(namespace)) in self.names:
                return rest
        return name

    def parameters(self, name: str) -> Mapping[str, Json]:
        return tree_at(self.schemas, name, "properties")

    def parameter(self, name: str, key: str) -> Json:
        """The schema of one parameter, without references; null if there is none."""
        if name not in self._inlined:
            self._inlined[name] = inline_references(as_tree(self.schemas.get(name)))
        return tree_at(self._inlined[name], "properties").get(key)

    def has_required_arguments(self, name: str, given: Mapping[str, Json]) -> bool:
        return all(key in given for key in list_at(as_tree(self.schemas.get(name)), "required"))


@dataclass(frozen=True, slots=True)
class Source(SearchedText):
    offered: Offered
    enabled: AbstractSet[str]
    cut: bool
    """Whether the text was truncated, so that an unclosed call may be incomplete."""

    def of(self, text: str) -> Source:
        # Only whole messages are read in parts, and none of them is truncated.
        return Source(text, self.offered, self.enabled, cut=False)

    def enabled_dialect(self, *dialects: str) -> str:
        """The first of these dialects that is enabled, or else the first: an opener may belong to several."""
        return next((dialect for dialect in dialects if dialect in self.enabled), dialects[0])


Made: TypeAlias = Callable[[str, Mapping[str, Json]], bool]
"""Whether a call of this name with these arguments was made, so that a text may report it."""

# As for structured calls, where `max_argument_depth` is 64 by default.
MAX_VALUE_DEPTH = 64

Rejection: TypeAlias = Literal[
    "malformed", "truncated", "builtin_recipient", "fabricated_result", "quotation", "mentioned", "too_large"
]


@dataclass(frozen=True, slots=True)
class TextCall:
    name: str
    arguments: JsonText
    original: str
    """The text that it was read from; only its arguments if that text holds several calls."""
    dialect: str
    id: str = ""
    """The id written by the model, which some templates need back; empty if another call has it."""


RegionKind: TypeAlias = Literal["call", "debris", "frame", "special", "wrapper", "quotation", "prose"]

_REJECTIONS: Mapping[str, str] = {
    "malformed": "looks like a call, but cannot be read as one",
    "truncated": "a truncated call; truncated calls are never run",
    "builtin_recipient": "addressed to a built-in tool of the model's vendor, not to one of yours",
    "fabricated_result": "a result that the model made up; everything after it is ignored",
    "quotation": "a quoted call, or one that repeats the conversation",
    "mentioned": "a call in a sentence, or one that has run and that the text reports",
    "too_large": "more than 256 KiB of text; it was not searched",
}
_TEXTS: Mapping[str, str] = {
    "frame": "message framing; it is not part of the content",
    "quotation": "code, a comment, reasoning or another quotation; calls in it are ignored",
    "prose": "a marker without a call; it is text",
}


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    kind: RegionKind
    about: str = ""
    """Names and dialects of calls, or the reason of a rejection."""

    @property
    def explanation(self) -> str:
        """What was made of it, for people; empty for what says nothing of its own, such as a closing tag."""
        if self.kind == "call":
            return f"read as {self.about}"
        why = _REJECTIONS.get(self.about)
        return f"rejected as {self.about}: {why}" if why else _TEXTS.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class TextCalls:
    """The calls in the text of a reply, and what the text holds besides them."""

    calls: tuple[TextCall, ...]
    content: str = ""
    """The text outside the calls; without calls, the unchanged text minus closed reasoning."""
    reasoning: str = ""
    rejected: tuple[Rejection, ...] = ()
    """Why text that looked like a call was not read as one."""
    unread: tuple[str, ...] = field(default=(), compare=False)
    """The texts of calls that were seen and could not be read, or of the blocks that they are in."""
    spans: tuple[Span, ...] = field(default=(), compare=False)
    """What was found at which character offsets, for debugging."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a decoder makes of an opener and the text after it: calls, one that cannot be read, or framing."""

    end: int
    calls: tuple[TextCall, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    """Why it, or other calls of the same block, are rejected."""
    reasoning: str = ""
    is_framing: bool = False


def rejected_reading(why: Rejection, end: int) -> Reading:
    return Reading(end, rejected=(why,))


Decoder: TypeAlias = Callable[[Source, int, int], "Reading | None"]


def text_call_if_valid(
    name: str, arguments: Mapping[str, Json] | None, dialect: str, call_id: Json = None
) -> TextCall | None:
    """A call, or ``None`` if its name or arguments are invalid."""
    # Parsed again from canonical text, so that the rules for structured calls apply: no infinite numbers, no
    # lone surrogates, limited nesting.
    if not name or arguments is None:
        return None
    try:
        sound = read_json(canonical(arguments), max_depth=MAX_VALUE_DEPTH).map(canonical).value_or(None)
    except (ValueError, RecursionError):
        return None
    if sound is None:
        return None
    identified = json_type(call_id) in {"string", "integer"}
    return TextCall(name, sound, "", dialect, str(call_id).strip() if identified else "")
