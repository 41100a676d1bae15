"""The YAML under a cassette: written to be read by people, read as if written by an enemy.

Written in block style with keys in their order, texts of several lines as literal blocks, and aliases
only where the caller names them (:mod:`~toolreel.cassette._format.yaml_writer`). Read by libyaml's
parser where it is there, by PyYAML's own elsewhere; what comes of its events
(:mod:`~toolreel.cassette._format.yaml_reader`) has no types but JSON's and bytes, no merge keys or
duplicate keys, no values that contain themselves, and no aliases that would unfold to more than
:data:`EXPANDED_LIMIT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolreel._errors import CassetteError, MissingExtra
from toolreel.cassette._format.yaml_fast_reader import read_lines
from toolreel.cassette._format.yaml_reader import read_events
from toolreel.cassette._format.yaml_writer import written

try:
    import yaml
except ImportError as error:
    raise MissingExtra.of("record", "PyYAML") from error

__all__ = ["EXPANDED_LIMIT", "TEXT_LIMIT", "dump_yaml", "load_yaml"]

TEXT_LIMIT: Final = 64 * 2**20
"""Characters of YAML that are read; a session of a thousand turns has about 3 million."""

EXPANDED_LIMIT: Final = 512 * 2**20
"""Characters that a file may have with its aliases unfolded; a thousand turns have about 250 million."""

_END: Final = "\n..."
_BAD_SCALAR: Final = (ValueError, LookupError)
"""What PyYAML's constructors raise for a scalar that does not fit its tag."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Only its parser is used, which knows no types and makes no values."""


def dump_yaml(tree: object, anchors: Mapping[int, str]) -> str:
    """The YAML text of a tree of plain values, closed by an end mark.

    :param anchors: by ``id`` of a collection in the tree, the anchor under which its second mention
        becomes an alias; every other object is written out each time
    """
    try:
        return f"{written(tree, anchors)}...\n"
    except yaml.YAMLError as error:
        raise CassetteError(f"cannot be written as YAML: {_in_one_line(error)}") from error


def load_yaml(text: str, *, expanded_limit: int = EXPANDED_LIMIT, whole: bool = True) -> object:
    """The tree of plain values in a YAML text from :func:`dump_yaml`, perhaps edited by hand.

    Aliases come back as the same object, so a caller who walks the tree pays for each mention.

    :param whole: whether the closing end mark must be there, which stock vcrpy does not write
    :raises CassetteError: for anything else
    """
    if len(text) > TEXT_LIMIT:
        raise CassetteError(f"larger than {TEXT_LIMIT} characters: split the session over several cassettes")
    if not text.strip():
        raise CassetteError("the file is empty: delete it and record again")
    text = text.replace("\r\n", "\n")  # a checkout with CRLF; a carriage return of ours is always escaped
    if whole and not text.rstrip().endswith(_END):
        raise CassetteError("the closing line '...' is missing, so the file was cut off: record again")
    ours = read_lines(text, expanded_limit)
    if ours is not None:
        return ours
    try:
        return read_events(iter(_Loader(text).get_event, None), expanded_limit)
    except yaml.YAMLError as error:
        raise CassetteError(f"not a YAML that can be trusted: {_in_one_line(error)}") from error
    except _BAD_SCALAR as error:
        raise CassetteError(f"a value does not fit its type: {error}; put texts in quotes") from error


def _in_one_line(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())
