"""Making plain values of YAML, straight from the parser's events.

PyYAML would build nodes first and values from them, which takes four times as long, and libyaml's
composer recurses in C, so that deep nesting takes the process down with it. Here nothing recurses:
what is open stands on a list, whose length is the depth. JSON's types and bytes are all there is: no
merge keys, which unfold exponentially; no duplicate keys; no sets, pairs or dates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from toolreel._errors import CassetteError, MissingExtra

try:
    import yaml
    from yaml.constructor import ConstructorError, SafeConstructor
    from yaml.resolver import Resolver
except ImportError as error:
    raise MissingExtra.of("record", "PyYAML") from error

__all__ = ["Scalars", "read_events"]

_MAX_NESTING: Final = 160
_PREFIX: Final = "tag:yaml.org,2002:"
_MERGE_TAG: Final = f"{_PREFIX}merge"
_SCALARS: Final = frozenset({"null", "bool", "int", "float", "binary", "str"})
_UNTAGGED: Final = (None, "!")
_IMPLICIT: Final = frozenset(Resolver.yaml_implicit_resolvers)
"""First letters of the plain scalars that may be something else than a text."""


def read_events(events: Iterable[Any], expanded_limit: int) -> object:
    """The tree of plain values that the events of one document amount to.

    Aliases come back as the same object.

    :param expanded_limit: how many characters there may be with all aliases unfolded
    :raises yaml.YAMLError: if it is not made of plain values
    :raises CassetteError: if it is nested too deep, stands in itself, or unfolds to more than the limit
    :raises ValueError: if a scalar does not fit its tag; or a LookupError, as PyYAML's constructors have it
    """
    return _Reader(expanded_limit).read(events)


class Scalars(SafeConstructor):
    """What a scalar stands for."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        tag: construct
        for tag, construct in SafeConstructor.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in _SCALARS
    }

    def __init__(self) -> None:
        super().__init__()
        self._resolver: Any = Resolver()
        self._plain: dict[str, object] = {}

    def value(self, event: Any) -> object:
        """The value of a scalar; one without quotes is looked at once however often it stands there."""
        if event.tag not in _UNTAGGED:
            return self._constructed(event.tag, event.value, event.start_mark)
        text: str = event.value
        if not event.implicit[0] or text[:1] not in _IMPLICIT:
            return text
        if text not in self._plain:
            self._plain[text] = self.plain(text, event.start_mark)
        return self._plain[text]

    def plain(self, text: str, mark: yaml.Mark | None = None) -> object:
        """The value of a scalar without quotes.

        :param mark: where it stands, for messages
        """
        if text[:1] not in _IMPLICIT:
            return text
        tag: str = self._resolver.resolve(yaml.ScalarNode, text, (True, False))
        if tag == _MERGE_TAG:
            problem = "a merge key ('<<') is not allowed: put a text in quotes"
            raise ConstructorError(None, None, problem, mark)
        return self._constructed(tag, text, mark)

    def _constructed(self, tag: str, text: str, mark: yaml.Mark | None) -> object:
        construct = self.yaml_constructors.get(tag, self.yaml_constructors[None])
        return construct(self, yaml.ScalarNode(tag, text, mark))


class _Open:
    """A collection whose end has not come yet."""

    __slots__ = ("anchor", "items", "key", "mark", "size")

    def __init__(self, items: list[Any] | dict[str, Any], event: Any) -> None:
        self.items = items
        self.anchor: str | None = event.anchor
        self.mark = event.start_mark
        self.size = 1
        """Characters so far, with aliases unfolded."""
        self.key: str | None = None
        """The key whose value comes next, in a mapping."""

    def take(self, value: object, size: int) -> None:
        """Put in the next key, value or item."""
        self.size += size
        if isinstance(self.items, list):
            self.items.append(value)
        elif self.key is not None:
            self.items[self.key] = value
            self.key = None
        elif not isinstance(value, str):
            raise self._refused(f"the key {value!r} is not a text: put it in quotes")
        elif value in self.items:
            raise self._refused("a key stands twice in one mapping")
        else:
            self.key = value

    def _refused(self, problem: str) -> ConstructorError:
        return ConstructorError(None, None, problem, self.mark)


class _Reader:
    """Reads one document."""

    def __init__(self, expanded_limit: int) -> None:
        self._limit = expanded_limit
        self._scalars = Scalars()
        self._open: list[_Open] = []
        self._anchored: dict[str, tuple[object, int]] = {}
        self._begun: set[str] = set()
        """Anchors of what is still open."""
        self._documents = 0
        self._root: object = None

    def read(self, events: Iterable[Any]) -> object:
        for event in events:
            match event:
                case yaml.ScalarEvent():
                    value = self._scalars.value(event)
                    self._found(value, len(value) + 1 if isinstance(value, (str, bytes)) else 1, event.anchor)
                case yaml.AliasEvent():
                    self._found(*self._aliased(event), None)
                case yaml.CollectionStartEvent():
                    self._begin(event)
                case yaml.CollectionEndEvent():
                    self._end()
                case yaml.DocumentStartEvent():
                    self._documents += 1
                    if self._documents > 1:
                        raise ConstructorError(None, None, "expected a single document, but found another")
                case _:
                    pass
        return self._root

    def _begin(self, event: Any) -> None:
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in {*_UNTAGGED, _PREFIX + ("seq" if is_list else "map")}:
            problem = f"could not determine a constructor for the tag {event.tag!r}"
            raise ConstructorError(None, None, problem, event.start_mark)
        if len(self._open) == _MAX_NESTING:
            raise CassetteError(f"nested deeper than {_MAX_NESTING} levels: no recording looks like that")
        self._open.append(_Open([] if is_list else {}, event))
        if event.anchor is not None:
            self._begun.add(event.anchor)

    def _end(self) -> None:
        ended = self._open.pop()
        if ended.size > self._limit:
            raise CassetteError(
                f"the aliases unfold to more than {self._limit} characters: no recording looks like that"
            )
        if ended.anchor is not None:
            self._begun.discard(ended.anchor)
        self._found(ended.items, ended.size, ended.anchor)

    def _found(self, value: object, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchored[anchor] = value, size
        if self._open:
            self._open[-1].take(value, size)
        else:
            self._root = value

    def _aliased(self, event: Any) -> tuple[object, int]:
        if event.anchor in self._begun:
            raise CassetteError("an alias stands inside of what it stands for: no recording looks like that")
        if event.anchor not in self._anchored:
            raise ConstructorError(None, None, f"found undefined alias {event.anchor!r}", event.start_mark)
        return self._anchored[event.anchor]
