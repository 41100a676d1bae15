"""YAML as OpenAPI documents are written in it: JSON's values alone, by the rules of YAML 1.2.

By YAML 1.1, which PyYAML follows, ``no`` is false and ``2024-01-01`` a date; in a document both are texts,
and so is a response's code as a key.
"""

from __future__ import annotations

import re
from typing import Final, cast

from toolreel._errors import MissingExtra, OpenApiError
from toolreel_core._jsontext.canonical import MAX_DEPTH, Json

try:
    from toolreel._yaml import TAG, Rules, Scalar, YamlError, read_tree
except ImportError:
    raise MissingExtra.of("openapi", "PyYAML") from None

VALUES: Final = 2_000_000
"""Values that a document may have with its aliases unfolded; the largest public ones have half a million."""

# The core schema of YAML 1.2, section 10.3.2, without octal and hexadecimal numbers, infinity and NaN.
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")


def read_yaml(text: str) -> Json:
    """The value of a YAML text.

    >>> read_yaml("200: {on: no, since: 2024-01-01, most: 1.5}")
    {'200': {'on': 'no', 'since': '2024-01-01', 'most': 1.5}}

    :raises OpenApiError: if it is not YAML, or has values that JSON lacks; names line and column
    """
    try:
        return cast("Json", read_tree(text, _RULES))
    except YamlError as error:
        raise OpenApiError(str(error)) from None


def _scalar(text: str) -> Scalar:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


_RULES: Final = Rules(
    plain=_scalar,
    # OpenAPI allows the tags of JSON's values alone.
    tags={
        "!": str,
        f"{TAG}str": str,
        f"{TAG}null": _scalar,
        f"{TAG}bool": _BOOLS.__getitem__,
        f"{TAG}int": int,
        f"{TAG}float": float,
    },
    max_depth=MAX_DEPTH,
    max_size=VALUES,
    unit="values",
    merge=True,
    keys_as_written=True,
)
