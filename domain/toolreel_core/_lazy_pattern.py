"""Regular expressions that are compiled when they are first used.

A process imports 400 of them and most runs use a few dozen; to compile all took a fifth of the import.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class LazyPattern:
    def __init__(self, source: Any, flags: int) -> None:  # noqa: ANN401 - a text or bytes
        self.pattern, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern has
        if name.startswith("_"):  # asked for by ``copy`` and ``pickle``
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        # From now on Python finds the methods of the pattern here, and does not call this one again.
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern for the top level of a module, which is compiled at its first use."""
    return cast("re.Pattern[AnyStr]", LazyPattern(source, flags))
