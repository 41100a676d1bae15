"""The YAML of a cassette: written for people, read as untrusted input.

The layout is PyYAML's: block style, keys in their order, texts of several lines as literal blocks, and
aliases only where the caller names them. The safe reader (:mod:`~toolreel._internal.safe_yaml`) accepts
JSON's types and bytes, but no dates or merge keys.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import yaml
from yaml.constructor import SafeConstructor
from yaml.emitter import ScalarAnalysis
from yaml.resolver import Resolver

from toolreel._internal import TAG, CassetteError, Scalar, YamlError, YamlRules, read_tree
from toolreel.cassette._bodies import Mention

BLOB_TAG = "!blob"
"""The tag of what stands for an image, audio or a file."""

_BREAKS = frozenset("\n\x85\u2028\u2029")


class _Dumper(yaml.SafeDumper):
    named: ClassVar[Mapping[int, str]] = {}
    """The anchors by ``id`` of a collection."""

    def ignore_aliases(self, data: object) -> bool:
        return id(data) not in self.named

    def generate_anchor(self, node: yaml.Node) -> str:
        return next(self.named[key] for key, one in self.represented_objects.items() if one is node)

    def choose_scalar_style(self) -> str:
        style: str = super().choose_scalar_style()
        is_mention = isinstance(self.event, yaml.ScalarEvent) and self.event.tag == BLOB_TAG
        return "" if is_mention else style  # PyYAML would put a mention in quotes

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        # PyYAML's blocks keep tabs and spaces before a line's end although it denies them, and its single
        # quotes lose the line breaks of Unicode although it allows them.
        analysis: ScalarAnalysis = super().analyze_scalar(scalar)
        if not _BREAKS.isdisjoint(scalar):
            analysis.allow_single_quoted = False
            inside = scalar.replace("\n", "").replace("\t", "")
            analysis.allow_block = scalar[0] != "\t" and inside.isprintable()
        return analysis


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(f"{TAG}str", text, style="|" if "\n" in text else None)


def _represent_blob_reference(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(BLOB_TAG, str(text))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(Mention, _represent_blob_reference)


def dump_yaml(tree: object, anchors: Mapping[int, str]) -> str:
    """:param anchors: by ``id`` of a collection, the anchor under which its second mention is an alias"""
    # PyYAML makes the dumper itself, so its anchors are an attribute of a class.
    kind = type("_Dumper", (_Dumper,), {"named": anchors})
    try:
        # So wide that no text is folded.
        text: str = yaml.dump(
            tree, Dumper=kind, allow_unicode=True, sort_keys=False, width=2**31, explicit_end=True
        )
    except yaml.YAMLError as error:
        raise CassetteError(f"cannot be written as YAML: {' '.join(str(error).split())}") from error
    return text


TEXT_LIMIT = 64 * 2**20
"""Characters of YAML that are read; a session of a thousand turns has about 3 million."""

EXPANDED_LIMIT = 512 * 2**20
"""Characters that a file may have with its aliases unfolded; a thousand turns have about 250 million."""

_END = "\n..."
_MAX_DEPTH = 160
"""A body may have 64 levels, and a conversation's tree of messages some of its own."""
_LONG = 100
"""Minimum characters of a plain scalar that is not cached."""


def load_yaml(text: str, *, whole: bool = True) -> object:
    """The tree of plain values in a YAML text; an alias gives the same object again.

    :param whole: whether the closing end mark must be there, which stock vcrpy does not write
    :raises CassetteError: names line and column
    """
    if len(text) > TEXT_LIMIT:
        raise CassetteError(f"larger than {TEXT_LIMIT} characters: split the session over several cassettes")
    if not text.strip():
        raise CassetteError("the file is empty: delete it and record again")
    text = text.replace("\r\n", "\n")  # a checkout with CRLF; a carriage return of ours is always escaped
    if whole and not text.rstrip().endswith(_END):
        raise CassetteError("the closing line '...' is missing, so the file was cut off: record again")
    try:
        tree: object = read_tree(text, _RULES)
    except YamlError as error:
        raise CassetteError(f"not a YAML that can be trusted: {error}") from error
    return tree


_resolver: Any = Resolver()
_IMPLICIT = frozenset(Resolver.yaml_implicit_resolvers)
"""First letters of plain scalars that may not be text."""
_KINDS = {f"{TAG}timestamp": "a date", f"{TAG}merge": "a merge key", f"{TAG}value": "a default value"}

_TAGS: Mapping[str, Callable[[str], Scalar]] = {
    "!": str,
    f"{TAG}str": str,
    f"{TAG}null": lambda _: None,
    f"{TAG}bool": lambda text: SafeConstructor.bool_values[text.lower()],
    f"{TAG}int": int,
    f"{TAG}float": float,
    BLOB_TAG: Mention,
    f"{TAG}binary": lambda text: base64.decodebytes(text.encode("ascii")),
}


def _plain_scalar_value(text: str) -> Scalar:
    if text[:1] not in _IMPLICIT:
        return text
    return _known(text) if len(text) < _LONG else _resolve_scalar(text)


def _resolve_scalar(text: str) -> Scalar:
    tag: str = _resolver.resolve(yaml.ScalarNode, text, (True, False))
    if tag not in _TAGS:
        raise ValueError(f"is {_KINDS[tag]} in YAML, which no cassette holds")
    try:
        return _TAGS[tag](text)
    except ValueError:  # YAML has more, such as 0x1F and 1:59
        raise ValueError("is a number that no cassette holds") from None


_known = lru_cache(maxsize=1024)(_resolve_scalar)
"""A cached version, for keys and numbers."""


_RULES = YamlRules(_plain_scalar_value, _TAGS, max_depth=_MAX_DEPTH, max_size=EXPANDED_LIMIT)
