"""The YAML under a cassette: written to be read by people, read as if written by an enemy.

Written by PyYAML's pure Python dumper, because its scalar styles can be chosen: block style,
keys in their order, texts of several lines as literal blocks, aliases only where the caller
names them. Read by libyaml where it is there, through a safe loader that in addition refuses
merge keys, duplicate keys, values that contain themselves, and aliases that would unfold to
more than :data:`EXPANDED_LIMIT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from toolreel_adapters.errors import CassetteError, MissingExtra

try:
    import yaml
    from yaml.constructor import ConstructorError, SafeConstructor
    from yaml.emitter import ScalarAnalysis
except ImportError as error:
    raise MissingExtra.of("record", "PyYAML") from error

__all__ = ["EXPANDED_LIMIT", "TEXT_LIMIT", "dump_yaml", "load_yaml"]

TEXT_LIMIT: Final = 64 * 2**20
"""Characters of YAML that are read; a session of a thousand turns has about 3 million."""

EXPANDED_LIMIT: Final = 512 * 2**20
"""Characters that a file may have with its aliases unfolded; a thousand turns have about 250 million."""

_MAX_NESTING: Final = 160
_END: Final = "\n..."
_WIDE: Final = 2**31
_BREAKS: Final = frozenset("\n\x85\u2028\u2029")
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_STRING_TAG: Final = "tag:yaml.org,2002:str"
_TYPES: Final = frozenset({"null", "bool", "int", "float", "binary", "str", "seq", "map"})
_BAD_SCALAR: Final = (ValueError, LookupError)
"""What PyYAML's constructors raise for a scalar that does not fit its tag."""


def dump_yaml(tree: object, anchors: Mapping[int, str]) -> str:
    """The YAML text of a tree of plain values, closed by an end mark.

    :param anchors: by ``id`` of an object in the tree, the anchor under which its second mention
        becomes an alias; every other object is written out each time
    """

    class Dumper(_Dumper):
        named = anchors
        anchor_of: ClassVar[dict[yaml.Node, str]] = {}

    try:
        text: str = yaml.dump(
            tree, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=_WIDE, explicit_end=True
        )
    except yaml.YAMLError as error:
        raise CassetteError(f"cannot be written as YAML: {_in_one_line(error)}") from error
    return text


def load_yaml(text: str, *, expanded_limit: int = EXPANDED_LIMIT) -> object:
    """The tree of plain values in a YAML text from :func:`dump_yaml`, perhaps edited by hand.

    Aliases come back as the same object, so a caller who walks the tree pays for each mention.

    :raises CassetteError: for anything else
    """
    if len(text) > TEXT_LIMIT:
        raise CassetteError(f"larger than {TEXT_LIMIT} characters: split the session over several cassettes")
    if not text.strip():
        raise CassetteError("the file is empty: delete it and record again")
    text = text.replace("\r\n", "\n")  # a checkout with CRLF; a carriage return of ours is always escaped
    if not text.rstrip().endswith(_END):
        raise CassetteError("the closing line '...' is missing, so the file was cut off: record again")
    try:
        _refuse_deep_nesting(text)
        tree = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeConstructor with still fewer rights
    except yaml.YAMLError as error:
        raise CassetteError(f"not a YAML that can be trusted: {_in_one_line(error)}") from error
    except _BAD_SCALAR as error:
        raise CassetteError(f"a value does not fit its type: {error}; put texts in quotes") from error
    _Ruler(expanded_limit).measure(tree)
    return tree


def _refuse_deep_nesting(text: str) -> None:
    """Look at the events first: libyaml's composer recurses in C and takes the process down with it."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_NESTING:
                raise CassetteError(f"nested deeper than {_MAX_NESTING} levels: no recording looks like that")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _in_one_line(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())


class _Dumper(yaml.SafeDumper):
    """A safe dumper with literal blocks and aliases under given names."""

    named: ClassVar[Mapping[int, str]]
    anchor_of: ClassVar[dict[yaml.Node, str]]

    def ignore_aliases(self, data: object) -> bool:
        return id(data) not in self.named

    def represent_data(self, data: object) -> yaml.Node:
        node: yaml.Node = super().represent_data(data)
        if id(data) in self.named:
            self.anchor_of[node] = self.named[id(data)]
        return node

    def generate_anchor(self, node: yaml.Node) -> str:
        return self.anchor_of[node]

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        """PyYAML's analysis, corrected for texts of several lines.

        It denies literal blocks to texts with tabs, or spaces before a line's end, which they keep.
        It allows single quotes around the line breaks of Unicode, which they lose.
        """
        analysis: ScalarAnalysis = super().analyze_scalar(scalar)
        if not _BREAKS.isdisjoint(scalar):
            analysis.allow_single_quoted = False
            analysis.allow_block = _fits_a_block(scalar)
        return analysis


def _fits_a_block(text: str) -> bool:
    """Whether a literal block gives back this text: no character to escape, no indentation to guess."""
    return text[0] != "\t" and text.replace("\n", "").replace("\t", "").isprintable()


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_STRING_TAG, text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


class _Strict(SafeConstructor):
    """A safe constructor of JSON's types and bytes alone.

    No merge keys, which unfold exponentially; no duplicate keys; no sets, pairs or dates, which
    JSON does not have and whose contents would escape the measuring.
    """

    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        tag: construct
        for tag, construct in SafeConstructor.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in _TYPES
    }

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, _ in node.value:
            if key.tag == _MERGE_TAG:
                raise ConstructorError(None, None, "a merge key ('<<') is not allowed", key.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        for key in mapping:
            if not isinstance(key, str):
                problem = f"the key {key!r} is not a text: put it in quotes"
                raise ConstructorError(None, None, problem, node.start_mark)
        if len(mapping) != len(node.value):
            raise ConstructorError(None, None, "a key stands twice in one mapping", node.start_mark)
        return mapping


_Loader: Any = type("_Loader", (_Strict, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), {})


class _Ruler:
    """Measures a tree with its aliases unfolded, visiting each object once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sizes: dict[int, int] = {}
        self._begun: set[int] = set()

    def measure(self, value: object) -> int:
        match value:
            case str() | bytes():
                return len(value) + 1
            case list() | dict():
                return self._measure_container(value)
            case _:
                return 1

    def _measure_container(self, value: list[Any] | dict[Any, Any]) -> int:
        if id(value) in self._sizes:
            return self._sizes[id(value)]
        if id(value) in self._begun:
            raise CassetteError("an alias stands inside of what it stands for: no recording looks like that")
        self._begun.add(id(value))
        parts = value if isinstance(value, list) else [*value, *value.values()]
        size = 1 + sum(self.measure(part) for part in parts)
        if size > self._limit:
            raise CassetteError(
                f"the aliases unfold to more than {self._limit} characters: no recording looks like that"
            )
        self._sizes[id(value)] = size
        return size
