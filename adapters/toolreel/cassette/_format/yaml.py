"""The YAML under a cassette: written for people to read, read as untrusted.

Written in block style with keys in their order, texts of several lines as literal blocks, and aliases
only where the caller names them (:mod:`~toolreel.cassette._format.yaml_writer`). Read by the safe reader
(:mod:`~toolreel._yaml`) with the scalars of YAML 1.1, as PyYAML writes them: JSON's types and
bytes; no dates, no merge keys.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from toolreel._errors import CassetteError, MissingExtra
from toolreel.cassette._format.yaml_writer import written

try:
    import yaml
    from yaml.constructor import SafeConstructor
    from yaml.resolver import Resolver

    from toolreel._yaml import TAG, Rules, Scalar, YamlError, read_tree
except ImportError as error:
    raise MissingExtra.of("record", "PyYAML") from error

TEXT_LIMIT: Final = 64 * 2**20
"""Characters of YAML that are read; a session of a thousand turns has about 3 million."""

EXPANDED_LIMIT: Final = 512 * 2**20
"""Characters that a file may have with its aliases unfolded; a thousand turns have about 250 million."""

_END: Final = "\n..."
_MAX_DEPTH: Final = 160
"""A body may have 64 levels, and a conversation's tree of messages some of its own."""
_LONG: Final = 100
"""Characters from which on a plain scalar is not likely to come again."""


def dump_yaml(tree: object, anchors: Mapping[int, str]) -> str:
    """The YAML text of a tree of plain values, closed by an end mark.

    :param anchors: by ``id`` of a collection in the tree, the anchor under which its second mention
        becomes an alias; every other object is written out each time
    """
    try:
        return f"{written(tree, anchors)}...\n"
    except yaml.YAMLError as error:
        raise CassetteError(f"cannot be written as YAML: {' '.join(str(error).split())}") from error


def load_yaml(text: str, *, expanded_limit: int = EXPANDED_LIMIT, whole: bool = True) -> object:
    """The tree of plain values in a YAML text from :func:`dump_yaml`, perhaps edited by hand.

    Aliases come back as the same object, so a caller who walks the tree pays for each mention.

    :param whole: whether the closing end mark must be there, which stock vcrpy does not write
    :raises CassetteError: for anything else; names line and column
    """
    if len(text) > TEXT_LIMIT:
        raise CassetteError(f"larger than {TEXT_LIMIT} characters: split the session over several cassettes")
    if not text.strip():
        raise CassetteError("the file is empty: delete it and record again")
    text = text.replace("\r\n", "\n")  # a checkout with CRLF; a carriage return of ours is always escaped
    if whole and not text.rstrip().endswith(_END):
        raise CassetteError("the closing line '...' is missing, so the file was cut off: record again")
    try:
        tree: object = read_tree(text, _rules(expanded_limit))
    except YamlError as error:
        raise CassetteError(f"not a YAML that can be trusted: {error}") from error
    return tree


def _number(construct: Callable[[Any, yaml.ScalarNode], Any], text: str) -> Any:
    """What PyYAML makes of a number such as ``1_000`` or ``0x1F``."""
    if len(text) > _LONG and ":" in text:  # base 60, for which PyYAML takes quadratic time
        raise ValueError("is too long a number")
    return construct(_constructor, yaml.ScalarNode(f"{TAG}str", text))


_constructor: Final = SafeConstructor()
_resolver: Final[Any] = Resolver()
_IMPLICIT: Final = frozenset(Resolver.yaml_implicit_resolvers)
"""First letters of the plain scalars that may be something else than a text."""
_KINDS: Final = {f"{TAG}timestamp": "a date", f"{TAG}merge": "a merge key", f"{TAG}value": "a default value"}

_TAGS: Final[Mapping[str, Callable[[str], Scalar]]] = {
    "!": str,
    f"{TAG}str": str,
    f"{TAG}null": lambda _: None,
    f"{TAG}bool": lambda text: SafeConstructor.bool_values[text.lower()],
    f"{TAG}int": lambda text: int(_number(SafeConstructor.construct_yaml_int, text)),
    f"{TAG}float": lambda text: float(_number(SafeConstructor.construct_yaml_float, text)),
    f"{TAG}binary": lambda text: base64.decodebytes(text.encode("ascii")),
}


def _plain(text: str) -> Scalar:
    """The value of a scalar without quotes."""
    if text[:1] not in _IMPLICIT:
        return text
    return _known(text) if len(text) < _LONG else _resolved(text)


def _resolved(text: str) -> Scalar:
    tag: str = _resolver.resolve(yaml.ScalarNode, text, (True, False))
    if tag not in _TAGS:
        raise ValueError(f"is {_KINDS[tag]} in YAML, which no cassette holds")
    return _TAGS[tag](text)


_known: Final = lru_cache(maxsize=1024)(_resolved)
"""The same for what is likely to come again, above all keys and numbers."""


@lru_cache(maxsize=4)
def _rules(expanded_limit: int) -> Rules:
    return Rules(_plain, _TAGS, max_depth=_MAX_DEPTH, max_size=expanded_limit)
