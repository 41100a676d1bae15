"""A project's rules for secrets: a TOML file, named by ``TOOLREEL_SECRETS`` or an option.

::

    allow = ["sk-test-*", "AKIAIOSFODNN7EXAMPLE"]  # no secrets, whatever they look like; * is any text
    variables = ["STAFF_LOGIN"]                    # their values are secret as well
    emails = true                                  # e-mail addresses are, too

    [patterns]
    "staff number" = "EMP-[0-9]{6}"                # further shapes, as regular expressions
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from toolreel._internal import SecretRulesError
from toolreel._secrets.patterns import EMAIL, SHAPES, Shape
from toolreel_core._internal import fits

VARIABLE: Final = "TOOLREEL_SECRETS"
"""The environment variable with the path of the rules file."""

_KEYS: Final = ("allow", "emails", "patterns", "variables")


@dataclass(frozen=True, slots=True)
class SecretRules:
    """What else is a secret in a project, and what is not."""

    allowed: tuple[str, ...] = ()
    """Texts that are not secrets, with ``*`` as a wildcard."""
    variables: tuple[str, ...] = ()
    """More environment variables with secret values."""
    shapes: tuple[Shape, ...] = SHAPES
    """The patterns to search for."""

    def allows(self, secret: str) -> bool:
        """Whether the rules allow this text."""
        return any(fits(pattern, secret) for pattern in self.allowed)


def rules_in(environ: Mapping[str, str] | None = None) -> SecretRules:
    """The rules in the file named by ``TOOLREEL_SECRETS``; without it, the default rules.

    :raises SecretRulesError: if the file is missing or invalid
    """
    named = (os.environ if environ is None else environ).get(VARIABLE, "")
    if not named:
        return SecretRules()
    try:
        changed = Path(named).stat().st_mtime_ns
    except OSError as error:
        raise SecretRulesError(f"{named} (named by {VARIABLE}): {error.strerror}") from None
    return _read(named, changed)  # the time of change makes the cache read an edited file again


@lru_cache(maxsize=8)
def _read(named: str, _changed: int) -> SecretRules:
    return read_rules(Path(named))


def read_rules(path: Path) -> SecretRules:
    """The rules in a file.

    :raises SecretRulesError: if it cannot be read or used; names the key
    """
    try:
        tree = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SecretRulesError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SecretRulesError(f"{path}: not TOML: {error}") from None
    for key in tree:
        if key not in _KEYS:
            raise SecretRulesError(f"{path}: {key!r} is no setting; there are {', '.join(_KEYS)}")
    emails = tree.get("emails", False)
    if not isinstance(emails, bool):
        raise SecretRulesError(f"{path}: emails: expected true or false")
    patterns = tree.get("patterns", {})
    if not isinstance(patterns, dict):
        raise SecretRulesError(f'{path}: patterns: expected a table of "name" = "regular expression"')
    own = tuple(_own(kind, pattern, path) for kind, pattern in patterns.items())
    return SecretRules(
        _texts(tree, "allow", path), _texts(tree, "variables", path), (*own, *SHAPES, *([EMAIL] * emails))
    )


def _own(kind: str, pattern: object, path: Path) -> Shape:
    try:
        compiled = re.compile(pattern) if isinstance(pattern, str) else None
    except re.error as error:
        raise SecretRulesError(f"{path}: patterns.{kind}: not a regular expression: {error}") from None
    if compiled is None or compiled.search(""):
        raise SecretRulesError(
            f"{path}: patterns.{kind}: expected a regular expression that fits no empty text"
        )
    return Shape(kind, compiled, ("",), anywhere=False)


def _texts(tree: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = tree.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip("*") for item in value):
        raise SecretRulesError(f"{path}: {key}: expected a list of texts")
    return tuple(value)
