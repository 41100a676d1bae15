"""The YAML of a cassette: written for people, read as untrusted input.

The layout is PyYAML's, written in a tenth of the time: block style, keys in their order, texts of several
lines as literal blocks, and aliases only where the caller names them. A test compares every style with
PyYAML. The safe reader (:mod:`~toolreel._internal.safe_yaml`) accepts JSON's types and bytes, but no dates
or merge keys.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from io import StringIO
from typing import Any, Final

from toolreel._internal import CassetteError, MissingExtra
from toolreel.cassette._bodies import Mention

try:
    import yaml
    from yaml.constructor import SafeConstructor
    from yaml.emitter import Emitter
    from yaml.resolver import Resolver

    from toolreel._internal import TAG, Rules, Scalar, YamlError, read_tree
except ImportError as error:
    raise MissingExtra.of("record", "PyYAML") from error


BLOB_TAG: Final = "!blob"
"""The tag of what stands for an image, audio or a file."""

_STRING_TAG: Final = "tag:yaml.org,2002:str"
_BINARY_TAG: Final = "tag:yaml.org,2002:binary"
_BREAKS: Final = frozenset("\n\x85\u2028\u2029")
_ONE_LINE: Final = re.compile("[ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]+")
"""Texts that can stand as they are, plain or in single quotes."""
_NOT_PLAIN: Final = re.compile(
    r"[#,\[\]{}&*!|>'\"%@` ]|[?-](?: |\Z)|---|\.\.\.|(?:[^: ]|:(?! |\Z)| (?!#|\Z))*+[: ]"
)
"""Texts that need quotes, because they would be read as something else."""
_ESCAPED: Final = re.compile("[^ !#-\\[\\]-~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
"""Characters that are escaped in double quotes."""
_LONGEST_KEY: Final = 122
"""Maximum characters of a key that needs no question mark; PyYAML counts its tag, too."""


def dump_yaml(tree: object, anchors: Mapping[int, str]) -> str:
    """The YAML text of a tree of plain values, closed by an end mark.

    :param anchors: by ``id`` of a collection in the tree, the anchor under which its second mention
        becomes an alias; every other object is written out each time
    :raises CassetteError: if it contains a value of another type
    """
    writer = _Writer({key: anchors[key] for key in _mentioned_again(tree, anchors)})
    try:
        writer.root(tree)
    except yaml.YAMLError as error:
        raise CassetteError(f"cannot be written as YAML: {' '.join(str(error).split())}") from error
    return "".join([*writer.parts, "...\n"])


def _mentioned_again(tree: object, named: Mapping[int, str]) -> list[int]:
    """The ``id`` of each named collection that occurs more than once in a tree."""
    again: list[int] = []
    seen: set[int] = set()
    pending = [tree]
    while pending:
        value = pending.pop()
        if not isinstance(value, (list, dict)):
            continue
        if id(value) in named:
            if id(value) in seen:
                again.append(id(value))
                continue
            seen.add(id(value))
        pending += value if isinstance(value, list) else value.values()
    return again


class _Writer:
    """Writes one document."""

    def __init__(self, anchors: Mapping[int, str]) -> None:
        self.parts: list[str] = []
        self._anchors = anchors
        self._begun: set[int] = set()
        self._scalars = _Scalars()

    def root(self, tree: object) -> None:
        """The document."""
        if not self._is_scalar_or_empty(tree) and id(tree) not in self._anchors:
            self._write_block(tree, 0, first="")
        else:
            self._write_node(tree, 0, at="", below=0)
            self.parts[0] = self.parts[0].lstrip(" ")

    def _is_scalar_or_empty(self, value: object) -> bool:
        """Whether it is a scalar or an empty collection."""
        return not isinstance(value, (list, dict)) or not value

    def _write_node(self, value: Any, column: int, at: str, below: int) -> None:
        """Write what follows a key or a dash, with its line break.

        :param column: of the collection that it is in
        :param at: the key or the dash
        :param below: the column of a collection that begins in the next line
        """
        head = at
        if id(value) in self._anchors:
            if id(value) in self._begun:
                self.parts.append(f"{at} *{self._anchors[id(value)]}\n")
                return
            self._begun.add(id(value))
            head = f"{at} &{self._anchors[id(value)]}"
        if not isinstance(value, (list, dict)):
            self.parts.append(f"{head} {self._scalars.text(value, column + 2)}\n")
        elif not value:
            self.parts.append(f"{head} {'[]' if isinstance(value, list) else '{}'}\n")
        else:
            self.parts.append(f"{head}\n")
            self._write_block(value, below)

    def _write_item(self, value: object, column: int, at: str) -> None:
        """Write what follows a dash or a question mark; a collection begins on the same line."""
        if self._is_scalar_or_empty(value) or id(value) in self._anchors:
            self._write_node(value, column, at, below=column + 2)
        else:
            self._write_block(value, column + 2, first=f"{at} ")

    def _write_block(self, value: Any, column: int, first: str | None = None) -> None:
        """Write the lines of a collection that is not empty.

        :param first: what the first line begins with, instead of the indentation
        """
        pad = " " * column
        if isinstance(value, list):
            for item in value:
                self._write_item(item, column, f"{pad if first is None else first}-")
                first = None
            return
        for key, item in value.items():
            begin = pad if first is None else first
            first = None
            if isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY and _BREAKS.isdisjoint(key):
                below = column if isinstance(item, list) else column + 2
                self._write_node(item, column, f"{begin}{self._scalars.text(key, column + 2)}:", below)
            else:
                self._write_item(key, column, f"{begin}?")
                self._write_item(item, column, f"{pad}:")


def _fits_a_block(text: str) -> bool:
    """Whether a literal block keeps this text: nothing to escape, and no leading tab."""
    return text[0] != "\t" and text.replace("\n", "").replace("\t", "").isprintable()


class _Scalars:
    """Writes scalars in the style that PyYAML would choose; a text in one line is looked at once.

    Two things differ from PyYAML, whose blocks keep tabs and spaces before a line's end although it denies
    them, and whose single quotes lose the line breaks of Unicode although it allows them.
    """

    def __init__(self) -> None:
        self._pyyaml: Final[Any] = yaml.SafeDumper(StringIO(), allow_unicode=True)
        self._known: dict[str, str] = {}

    def text(self, value: object, column: int) -> str:
        """A scalar as it is written.

        :param column: of the lines of a literal block
        """
        if type(value) is str:
            if "\n" in value:
                return self._literal_block(value, column)
            if value not in self._known:
                self._known[value] = self._one_line(value)
            return self._known[value]
        if isinstance(value, Mention):
            return f"{BLOB_TAG} {self._one_line(value)}"
        node = self._pyyaml.represent_data(value)
        if node.tag == _BINARY_TAG:
            return f"!!binary {self._literal_block(node.value, column)}"
        if isinstance(node, yaml.ScalarNode) and node.tag != _STRING_TAG:
            return str(node.value)
        raise yaml.representer.RepresenterError("cannot represent an object", value)

    def _one_line(self, text: str) -> str:
        if not _ONE_LINE.fullmatch(text):
            return _escape_text(text) if text else "''"
        if _NOT_PLAIN.match(text) or not self._is_text(text):
            return "'" + text.replace("'", "''") + "'"
        return text

    def _is_text(self, text: str) -> bool:
        """Whether it is read as a text without quotes."""
        return text[0] not in Resolver.yaml_implicit_resolvers or (
            self._pyyaml.resolve(yaml.ScalarNode, text, (True, False)) == _STRING_TAG
        )

    def _literal_block(self, text: str, column: int) -> str:
        """A text of several lines as a literal block if possible, without its last line break."""
        if not text or not _fits_a_block(text):
            return _escape_text(text)
        pad = " " * column
        lines = (f"{pad}{line}" if line else "" for line in text.removesuffix("\n").split("\n"))
        return "\n".join([f"|{self._pyyaml.determine_block_hints(text)}", *lines])


def _escape_text(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape_character, text) + '"'


def _escape_character(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in Emitter.ESCAPE_REPLACEMENTS:
        return f"\\{Emitter.ESCAPE_REPLACEMENTS[letter]}"
    code = ord(letter)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


TEXT_LIMIT: Final = 64 * 2**20
"""Characters of YAML that are read; a session of a thousand turns has about 3 million."""

EXPANDED_LIMIT: Final = 512 * 2**20
"""Characters that a file may have with its aliases unfolded; a thousand turns have about 250 million."""

_END: Final = "\n..."
_MAX_DEPTH: Final = 160
"""A body may have 64 levels, and a conversation's tree of messages some of its own."""
_LONG: Final = 100
"""Minimum characters of a plain scalar that is not cached."""


def load_yaml(text: str, *, expanded_limit: int = EXPANDED_LIMIT, whole: bool = True) -> object:
    """The tree of plain values in a YAML text from :func:`dump_yaml`, perhaps edited by hand.

    An alias gives the same object again.

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
        tree: object = read_tree(text, _parse_rules(expanded_limit))
    except YamlError as error:
        raise CassetteError(f"not a YAML that can be trusted: {error}") from error
    return tree


def _number_of(construct: Callable[[Any, yaml.ScalarNode], Any], text: str) -> Any:
    """The value that PyYAML gives a number such as ``1_000`` or ``0x1F``."""
    if len(text) > _LONG and ":" in text:  # base 60, for which PyYAML takes quadratic time
        raise ValueError("is too long a number")
    return construct(_constructor, yaml.ScalarNode(f"{TAG}str", text))


_constructor: Final = SafeConstructor()
_resolver: Final[Any] = Resolver()
_IMPLICIT: Final = frozenset(Resolver.yaml_implicit_resolvers)
"""First letters of plain scalars that may not be text."""
_KINDS: Final = {f"{TAG}timestamp": "a date", f"{TAG}merge": "a merge key", f"{TAG}value": "a default value"}

_TAGS: Final[Mapping[str, Callable[[str], Scalar]]] = {
    "!": str,
    f"{TAG}str": str,
    f"{TAG}null": lambda _: None,
    f"{TAG}bool": lambda text: SafeConstructor.bool_values[text.lower()],
    f"{TAG}int": lambda text: int(_number_of(SafeConstructor.construct_yaml_int, text)),
    f"{TAG}float": lambda text: float(_number_of(SafeConstructor.construct_yaml_float, text)),
    BLOB_TAG: Mention,
    f"{TAG}binary": lambda text: base64.decodebytes(text.encode("ascii")),
}


def _plain_scalar(text: str) -> Scalar:
    """The value of a scalar without quotes."""
    if text[:1] not in _IMPLICIT:
        return text
    return _known(text) if len(text) < _LONG else _resolve_scalar(text)


def _resolve_scalar(text: str) -> Scalar:
    tag: str = _resolver.resolve(yaml.ScalarNode, text, (True, False))
    if tag not in _TAGS:
        raise ValueError(f"is {_KINDS[tag]} in YAML, which no cassette holds")
    return _TAGS[tag](text)


_known: Final = lru_cache(maxsize=1024)(_resolve_scalar)
"""A cached version, for keys and numbers."""


@lru_cache(maxsize=4)
def _parse_rules(expanded_limit: int) -> Rules:
    return Rules(_plain_scalar, _TAGS, max_depth=_MAX_DEPTH, max_size=expanded_limit)
