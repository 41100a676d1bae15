"""Reads untrusted YAML into plain values, within the limits that each use sets.

libyaml's parser (PyYAML's own if that is missing) produces the events; the values are built here, because

- PyYAML's composer recurses in C, so deeply nested input would crash the process: here a list serves as
  the stack, and its length is limited;
- PyYAML expands aliases without a limit: here an alias gives the same object again, and its
  expanded size is counted;
- PyYAML keeps the last of two equal keys, and makes dates, sets and Python objects: here they are errors.

Every error names line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml
from yaml.reader import Reader, ReaderError

Scalar: TypeAlias = "bool | int | float | str | bytes | None"

TAG: Final = "tag:yaml.org,2002:"
"""What ``!!`` stands for in a tag."""

_SHOWN: Final = 40
"""Characters of a value that an error quotes."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Only its parser is used, which constructs no values."""


class YamlError(ValueError):
    """A text that is not YAML, or breaks the rules; ``str()`` begins with the place."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.problem: Final = problem
        self.line: Final = line
        """Counted from 1."""
        self.column: Final = column
        """Counted from 1."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The YAML features and limits for one kind of file."""

    plain: Callable[[str], Scalar]
    """The value of a scalar without quotes and tag; raises ``ValueError`` if it is not allowed."""
    tags: Mapping[str, Callable[[str], Scalar]]
    """By the tags that a scalar may have, what makes its value; lists and mappings may have ``!!seq`` and
    ``!!map`` if there are any."""
    max_depth: int
    """Levels of lists and mappings."""
    max_size: int
    """Characters of the whole tree with its aliases unfolded; each value counts as one more."""
    aliases: bool = True
    """Whether anchors and aliases are allowed."""


def read_tree(text: str, rules: Rules) -> Any:
    """The tree of lists, mappings and scalars in a text of one YAML document; ``None`` if it is empty.

    Aliases give the same object again, so a caller who walks the tree pays for each mention.

    :raises YamlError: if the text is not YAML, or breaks the rules
    """
    reader = _Reader(rules)
    try:
        for event in iter(_Loader(text).get_event, None):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except (ReaderError, UnicodeEncodeError):  # the latter from libyaml, for half of a surrogate pair
        raise _unprintable(text) from None
    return reader.root


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read yet."""

    items: list[Any] | dict[str, Any]
    anchor: str | None
    size: int = 1
    """Size so far, with aliases unfolded."""
    key: str | None = None
    """In a mapping, the key whose value comes next."""


class _Reader:
    """Builds the tree from events."""

    def __init__(self, rules: Rules) -> None:
        self.root: Any = None
        self._rules = rules
        self._open: list[_Open] = []
        self._anchored: dict[str, tuple[Any, int]] = {}
        """By anchor, a complete value and its size."""
        self._begun: set[str] = set()
        """Anchors of what is still open."""
        self._documents = 0

    def take(self, event: Any) -> None:
        match event:  # the most frequent first
            case yaml.ScalarEvent():
                value = self._scalar(event)
                size = len(value) + 1 if isinstance(value, (str, bytes)) else 1
                self._complete(value, size, event.anchor, event)
            case yaml.CollectionEndEvent():
                done = self._open.pop()
                self._begun.discard(done.anchor or "")
                self._complete(done.items, done.size, done.anchor, event)
            case yaml.CollectionStartEvent():
                self._begin(event)
            case yaml.AliasEvent():
                self._put(*self._aliased(event), event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _error(event, "a second document begins here; expected one")
            case _:
                pass  # the ends of the document and the stream

    def _scalar(self, event: Any) -> Scalar:
        text: str = event.value
        if event.tag is None and not event.implicit[0]:
            return text  # in quotes, or a block
        construct = self._rules.plain if event.tag is None else self._rules.tags.get(event.tag)
        if construct is None:
            raise self._unknown_tag(event)
        try:
            return construct(text)
        except (ValueError, LookupError, ArithmeticError) as error:  # as PyYAML's constructors do
            why = "does not fit its type" if event.tag else str(error)
            raise _error(event, f"the value {_shown(text)} {why}; put texts in quotes") from None

    def _begin(self, event: Any) -> None:
        is_list = isinstance(event, yaml.SequenceStartEvent)
        usual = {"!", f"{TAG}{'seq' if is_list else 'map'}"} if self._rules.tags else set()
        if event.tag is not None and event.tag not in usual:
            raise self._unknown_tag(event)
        if len(self._open) == self._rules.max_depth:
            raise _error(event, f"nested deeper than {self._rules.max_depth} levels")
        if event.anchor is not None:
            self._refuse_anchors(event)
            self._begun.add(event.anchor)
        self._open.append(_Open([] if is_list else {}, event.anchor))

    def _complete(self, value: Any, size: int, anchor: str | None, event: Any) -> None:
        if anchor is not None:
            self._refuse_anchors(event)
            self._anchored[anchor] = value, size
        self._put(value, size, event)

    def _put(self, value: Any, size: int, event: Any) -> None:
        """Take a complete value to where it belongs."""
        if not self._open:
            self.root = value
            return
        into = self._open[-1]
        into.size += size
        if into.size > self._rules.max_size:
            raise _error(event, f"more than {self._rules.max_size} characters with its aliases unfolded")
        if isinstance(into.items, list):
            into.items.append(value)
        elif into.key is not None:
            into.items[into.key] = value
            into.key = None
        else:
            into.key = self._key(value, event)
            if into.key in into.items:
                raise _error(event, f"the key {_shown(into.key)} stands twice")

    def _key(self, value: Any, event: Any) -> str:
        if isinstance(value, (list, dict)):
            raise _error(event, "a list or a mapping cannot be a key")
        if not isinstance(value, str):
            raise _error(event, f"the key {value!r} is not a text: put it in quotes")
        return value

    def _aliased(self, event: Any) -> tuple[Any, int]:
        self._refuse_anchors(event)
        if event.anchor in self._begun:
            raise _error(event, f"the alias *{event.anchor} stands inside what it stands for")
        if event.anchor not in self._anchored:
            raise _error(event, f"the alias *{event.anchor} has no anchor before it")
        return self._anchored[event.anchor]

    def _refuse_anchors(self, event: Any) -> None:
        if not self._rules.aliases:
            raise _error(event, "anchors and aliases are not allowed; write the value out")

    def _unknown_tag(self, event: Any) -> YamlError:
        tag = str(event.tag)
        shown = f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag
        return _error(event, f"the tag {_shown(shown)} is not allowed here; leave it out")


def _syntax_error(error: yaml.MarkedYAMLError) -> YamlError:
    mark = error.problem_mark or error.context_mark
    problem = ", ".join(part for part in (error.context, error.problem) if part)
    # The parser's commonest complaint does not tell people what to do.
    hint = "; put a text that holds a colon in quotes" * ("mapping values are not allowed" in problem)
    return _located(mark, f"not YAML: {problem}{hint}")


def _unprintable(text: str) -> YamlError:
    """The error for a character that YAML excludes; libyaml and PyYAML state its place differently."""
    found = Reader.NON_PRINTABLE.search(text)
    before = text[: found.start()] if found else text
    character = f"the character {found[0]!r}" if found else "a character"
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return YamlError(
        f"not YAML: {character} is not allowed; write it as an escape in double quotes", line, column
    )


def _error(event: Any, problem: str) -> YamlError:
    return _located(event.start_mark, problem)


def _located(mark: yaml.Mark | None, problem: str) -> YamlError:
    return YamlError(problem, mark.line + 1, mark.column + 1) if mark else YamlError(problem, 1, 1)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
