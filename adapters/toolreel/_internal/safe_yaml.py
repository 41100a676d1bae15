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

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml
from yaml.reader import Reader, ReaderError

Scalar: TypeAlias = "bool | int | float | str | bytes | None"

TAG = "tag:yaml.org,2002:"
"""What ``!!`` stands for in a tag."""

_SHOWN = 40
"""Characters of a value that an error quotes."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Only its parser is used, which constructs no values."""


class YamlError(ValueError):
    """A text that is not YAML, or breaks the rules; ``str()`` begins with the place."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.problem = problem
        self.line = line
        """Counted from 1."""
        self.column = column
        """Counted from 1."""


@dataclass(frozen=True, slots=True)
class YamlRules:
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


def read_tree(text: str, rules: YamlRules) -> Any:
    """The tree of lists, mappings and scalars in a text of one YAML document; ``None`` if it is empty.

    Aliases give the same object again, so a caller who walks the tree pays for each mention.

    :raises YamlError: if the text is not YAML, or breaks the rules
    """
    try:
        return _tree_of_events(iter(_Loader(text).get_event, None), rules)
    except yaml.MarkedYAMLError as error:
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        # The parser's commonest complaint does not tell people what to do.
        hint = "; put a text that holds a colon in quotes" * ("mapping values are not allowed" in problem)
        raise _yaml_error(error.problem_mark or error.context_mark, f"not YAML: {problem}{hint}") from None
    except (ReaderError, UnicodeEncodeError):  # the latter from libyaml, for half of a surrogate pair
        # libyaml and PyYAML state the place differently.
        before, character, _ = re.split(f"({Reader.NON_PRINTABLE.pattern})", text, maxsplit=1)
        problem = (
            f"not YAML: the character {character!r} is not allowed; write it as an escape in double quotes"
        )
        raise YamlError(problem, before.count("\n") + 1, len(before) - before.rfind("\n")) from None


@dataclass(slots=True)
class _Open:
    items: list[Any] | dict[str, Any]
    anchor: str | None
    size: int = 1
    """Size so far, with aliases unfolded."""
    key: str | None = None
    """In a mapping, the key whose value comes next."""

    def put(self, value: Any, size: int, max_size: int, mark: Any) -> None:
        self.size += size
        if self.size > max_size:
            raise _yaml_error(mark, f"more than {max_size} characters with its aliases unfolded")
        if isinstance(self.items, list):
            self.items.append(value)
        elif self.key is not None:
            self.items[self.key], self.key = value, None
        elif not isinstance(value, str):
            raise _yaml_error(mark, "a key has to be a text; put it in quotes")
        elif value in self.items:
            raise _yaml_error(mark, f"the key {_quoted(value)} stands twice")
        else:
            self.key = value


def _tree_of_events(events: Iterable[Any], rules: YamlRules) -> Any:
    root: Any = None
    opened: list[_Open] = []
    anchored: dict[str, tuple[Any, int]] = {}
    """By anchor, a complete value and its size."""
    documents = 0
    for event in events:
        anchor = getattr(event, "anchor", None)
        if anchor is not None and not rules.aliases:
            raise _yaml_error(event.start_mark, "anchors and aliases are not allowed; write the value out")
        match event:  # the most frequent first
            case yaml.ScalarEvent():
                value: Any = _scalar(event, rules)
                size = len(value) + 1 if isinstance(value, (str, bytes)) else 1
            case yaml.CollectionEndEvent():
                done = opened.pop()
                value, size, anchor = done.items, done.size, done.anchor
            case yaml.CollectionStartEvent():
                opened.append(_Open([] if isinstance(event, yaml.SequenceStartEvent) else {}, anchor))
                _check_collection(event, len(opened), rules)
                anchored.pop(anchor or "", None)  # it stands for this one, which is not complete
                continue
            case yaml.AliasEvent():
                if anchor not in anchored:
                    raise _yaml_error(event.start_mark, f"the alias *{anchor} has no anchor before it")
                value, size = anchored[anchor]
            case _:  # the beginnings and ends of documents and of the stream
                documents += isinstance(event, yaml.DocumentStartEvent)
                if documents > 1:
                    raise _yaml_error(event.start_mark, "a second document begins here; expected one")
                continue
        if anchor is not None:
            anchored[anchor] = value, size
        if opened:
            opened[-1].put(value, size, rules.max_size, event.start_mark)
        else:
            root = value
    return root


def _scalar(event: Any, rules: YamlRules) -> Scalar:
    text: str = event.value
    if event.tag is None and not event.implicit[0]:
        return text  # in quotes, or a block
    construct = rules.plain if event.tag is None else rules.tags.get(event.tag)
    if construct is None:
        raise _unknown_tag_error(event)
    try:
        return construct(text)
    except (ValueError, LookupError, ArithmeticError) as error:  # as PyYAML's constructors do
        why = "does not fit its type" if event.tag else str(error)
        raise _yaml_error(event.start_mark, f"the value {_quoted(text)} {why}; put texts in quotes") from None


def _check_collection(event: Any, depth: int, rules: YamlRules) -> None:
    name = "seq" if isinstance(event, yaml.SequenceStartEvent) else "map"
    if event.tag is not None and not (rules.tags and event.tag in {"!", f"{TAG}{name}"}):
        raise _unknown_tag_error(event)
    if depth > rules.max_depth:
        raise _yaml_error(event.start_mark, f"nested deeper than {rules.max_depth} levels")


def _unknown_tag_error(event: Any) -> YamlError:
    tag = str(event.tag)
    shown = f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag
    return _yaml_error(event.start_mark, f"the tag {_quoted(shown)} is not allowed here; leave it out")


def _yaml_error(mark: Any, problem: str) -> YamlError:
    return YamlError(problem, mark.line + 1, mark.column + 1) if mark else YamlError(problem, 1, 1)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
