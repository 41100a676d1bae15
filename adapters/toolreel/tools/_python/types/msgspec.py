"""Schemas of msgspec structs, for tools whose arguments are declared as one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from toolreel._errors import AdapterError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._tools.surface import opened


def schema_of_struct(struct: type) -> Mapping[str, Json]:
    """The JSON Schema of a ``msgspec.Struct``, as the ``parameters`` of a tool.

    ``Tool.of(book, parameters=schema_of_struct(Booking))``; msgspec is not a dependency of toolreel.

    :raises AdapterError: if msgspec is not installed
    :raises ConfigError: if msgspec cannot generate a schema of the type
    """
    try:
        msgspec = importlib.import_module("msgspec")
    except ImportError:
        raise AdapterError("msgspec is not installed: pip install msgspec") from None
    try:
        tree: Mapping[str, Json] = msgspec.json.schema(struct)
    except TypeError as error:
        raise ConfigError(f"{struct!r} makes no schema: {error}") from None
    return opened(tree)
