"""Read YAML documents of OpenAPI: only JSON values, by the rules of YAML 1.2.

PyYAML implements YAML 1.1, where ``no`` is false and ``2024-01-01`` is a date. In an OpenAPI document both
are strings, and so are keys such as status codes. The input is untrusted: the size of expanded aliases is
limited, and recursive aliases are rejected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from toolreel._errors import MissingExtra, OpenApiError
from toolreel_core._jsontext.canonical import MAX_DEPTH, Json

try:
    import yaml
except ImportError:
    raise MissingExtra.of("openapi", "PyYAML") from None

__all__ = ["MAX_NODES", "read_yaml"]

MAX_NODES: Final = 2_000_000
"""Maximum number of values with aliases expanded; the largest public documents have half a million."""

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_TEXT_TAG: Final = "tag:yaml.org,2002:str"


@dataclass(slots=True)
class _Container:
    """A list or an object that is still being read."""

    value: list[Json] | dict[str, Json]
    anchor: str | None
    nodes: int = 1
    key: str | None = None
    merged: list[Json] = field(default_factory=list)


def read_yaml(text: str) -> Json:
    """Parse YAML.

    >>> read_yaml("200: {on: no, since: 2024-01-01, most: 1.5}")
    {'200': {'on': 'no', 'since': '2024-01-01', 'most': 1.5}}

    :raises OpenApiError: if it is not YAML, or not representable in JSON; names line and column
    """
    reading = _Reader()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reading.take(event)
    except yaml.YAMLError as error:
        raise OpenApiError(f"not YAML: {' '.join(str(error).split())}") from None
    return reading.whole


class _Reader:
    """Builds a document from the events of the parser."""

    def __init__(self) -> None:
        self.whole: Json = None
        self._stack: list[_Container] = []
        self._anchors: dict[str, tuple[Json, int]] = {}
        self._nodes = 0

    def take(self, event: Any) -> None:  # noqa: ANN401 - PyYAML's events have no types
        match event:
            case yaml.ScalarEvent():
                self._put(_scalar(event), 1, event)
            case yaml.SequenceStartEvent():
                self._push(_Container([], event.anchor), event)
            case yaml.MappingStartEvent():
                self._push(_Container({}, event.anchor), event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close(event)
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    raise _complaint(event, f"the alias *{event.anchor} stands for nothing that is complete")
                self._put(*self._anchors[event.anchor], event)
            case _:
                pass  # where streams and documents begin and end

    def _push(self, opened: _Container, event: Any) -> None:  # noqa: ANN401
        if len(self._stack) >= MAX_DEPTH:
            raise _complaint(event, f"nested deeper than {MAX_DEPTH} levels")
        self._stack.append(opened)

    def _close(self, event: Any) -> None:  # noqa: ANN401
        done = self._stack.pop()
        value: Json = done.value
        for merged in done.merged:
            if not isinstance(merged, dict) or not isinstance(value, dict):
                raise _complaint(event, "'<<' takes an object, or a list of objects")
            value = {**merged, **value}
        self._put(value, done.nodes, event, done.anchor)

    def _put(self, value: Json, nodes: int, event: Any, anchor: str | None = None) -> None:  # noqa: ANN401
        """Add a complete value to its container."""
        if anchor is None and isinstance(event, yaml.ScalarEvent):
            anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = (value, nodes)
        if not self._stack:
            self.whole = value
            return
        into = self._stack[-1]
        into.nodes += nodes
        if into.nodes > MAX_NODES:
            raise _complaint(event, f"more than {MAX_NODES} values with its aliases expanded")
        if isinstance(into.value, list):
            into.value.append(value)
        elif into.key is None:
            into.key = _key(value, event)
            if into.key in into.value:
                raise _complaint(event, f"the key {into.key!r} stands twice")
        else:
            key, into.key = into.key, None
            if key == "<<":
                into.merged += value if isinstance(value, list) else [value]
            else:
                into.value[key] = value


def _key(value: Json, event: Any) -> str:  # noqa: ANN401
    """A key as it is written, such as a status code."""
    if isinstance(event, yaml.ScalarEvent):
        return str(event.value)
    if isinstance(value, str):
        return value
    raise _complaint(event, "a list or an object cannot be a key")


def _scalar(event: Any) -> Json:  # noqa: ANN401
    text = str(event.value)
    if not event.implicit[0] or event.tag == _TEXT_TAG:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _complaint(event: Any, why: str) -> OpenApiError:  # noqa: ANN401
    at = event.start_mark
    return OpenApiError(f"line {at.line + 1}, column {at.column + 1}: {why}")
