"""Rules for secrets: patterns of keys, and what a project allows or adds."""

from __future__ import annotations

import base64
import binascii
import math
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from toolreel._internal import SecretRulesError, read_text_file, read_toml
from toolreel_core._config_checks import Table, matches_wildcard
from toolreel_core._lazy_pattern import lazy_pattern

# The names under which secrets occur, and what tells them from ordinary text; patterns are in shapes.toml.


LOGIN_NAMES = r"password|passwd|passphrase|pwd"
"""Names of passwords, as a regular expression without a group."""
KEY_NAMES = (
    r"(?:api|access|secret|private|account|subscription|signing|encryption|master|service|app)[_-]?key"
    r"|secret[_-]?access[_-]?key|secret|token|credentials?"
)
"""Names of API keys and tokens, likewise."""
_NAME = lazy_pattern(rf"(?i)(?:{LOGIN_NAMES}|{KEY_NAMES})$")
"""The name of a key whose value is a secret."""
_NO_SECRET_TOKEN = lazy_pattern(
    r"(?i)(?:page|paging|pagination|next|prev|previous|continuation|continue|cursor|sync|resume|change|stop"
    r"|pad|bos|eos|unk|mask|sep)[_.-]?$"
)
"""Prefixes of names such as ``next_page_token`` and ``pad_token``, which are not secret: list cursors, and
special tokens of models."""

PLACEHOLDER = lazy_pattern(
    r"(?i)redacted|example|your|placeholder|dummy|changeme|sample|\.\.\.|…|\*\*\*|xxxx|^[$%<{]|^os\.|^env|^process\."
)
"""Placeholders in examples, and references to environment variables in code."""
_SURE_PLACEHOLDER = lazy_pattern(r"(?i)redacted|example|placeholder|x{6}")
"""Unmistakable placeholders: in a random key, short words such as ``your`` may occur by chance."""
_PATH = lazy_pattern(r"^(?:[./~]|[A-Za-z]:\\|file:)")
"""A value that is a path, and no secret."""
# Of URLs in manuals, such as `https://user:password@host:port`.
_PLAIN_PASSWORDS = frozenset({"pass", "password", "passwd", "port", "pw", "pwd", "secret", "token"})


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether a value with this name may be a secret.

    >>> names_a_secret("OPENAI_API_KEY"), names_a_secret("max_tokens"), names_a_secret("next_page_token")
    (True, False, False)
    """
    match = _NAME.search(name)
    return match is not None and not _NO_SECRET_TOKEN.search(name[: match.start()])


# What tells secrets from ordinary text: a check of the secret and of what stands before it.

ValueCheck: TypeAlias = Callable[[str, str], bool]


def _randomness_check(run: int) -> ValueCheck:
    """A check for a digit, mixed case or padding, and a run of at least ``run`` letters and digits."""
    long = lazy_pattern(rf"[A-Za-z0-9]{{{run}}}")
    return lambda text, _: bool(
        re.search(r"\d|=$|[a-z][A-Z]", text) and long.search(text) and not _SURE_PLACEHOLDER.search(text)
    )


def _is_password(text: str, _before: str) -> bool:
    mixed = re.search(r"\d", text) and re.search(r"[^\W\d]", text)
    return bool(mixed) and not PLACEHOLDER.search(text) and not _PATH.search(text)


def _is_api_key(text: str, before: str) -> bool:
    """Whether a value looks random, and is neither a path, a placeholder nor a list cursor."""
    if _NO_SECRET_TOKEN.search(before) or PLACEHOLDER.search(text) or _PATH.search(text):
        return False
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text) and re.search(r"[A-Za-z0-9]{12}", text)
    shares = [count / len(text) for count in Counter(text).values()]
    entropy = -sum(share * math.log2(share) for share in shares)  # in bits per character
    return bool(mixed) and entropy >= 3  # random keys usually have more than 3.5


def _is_basic_auth_value(text: str, _before: str) -> bool:
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text else None)
        return ":" in decoded.decode() and decoded.decode().isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False


def _is_real_password(text: str, _before: str) -> bool:
    return text.lower() not in _PLAIN_PASSWORDS and not PLACEHOLDER.search(text)


_PROOFS: Mapping[str, ValueCheck] = {
    "": lambda _text, _before: True,
    "credentials": _is_basic_auth_value,
    "digit": lambda text, _: bool(re.search(r"\d", text)),  # nearly all keys have one, few names do
    "key": _is_api_key,
    "password": _is_password,
    "real": _is_real_password,
}

_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
"""Where a key may start: not inside a word, except after an escape such as ``\\n``, whose letter is not
part of a word."""

# Its repetitions are bounded, so that a search takes linear time on any text.
_COLON = r"\\{0,3}[\"']?\s{0,9}[:=]\s{0,9}\[?\s{0,9}\\{0,3}[\"']?"
"""Between a name and its value, in HTTP, JSON (also escaped), Python, YAML and shells."""

_WORD = r"[^\s\"'`,;&<>{}()\[\]\\]"
"""A character of an unquoted value."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    kind: str
    pattern: re.Pattern[str]
    """The secret is the group ``secret``, or the whole match."""
    hints: tuple[str, ...]
    """Lower-case texts, one of which every match contains: a fast check that skips most texts.

    A pattern of a project has none, and is always searched.
    """
    proof: ValueCheck = _PROOFS[""]
    """Whether a match is a secret and not ordinary text."""
    in_blobs: bool = False
    """Whether it is looked for in Base64, too, where patterns match by chance."""

    def matches(self, text: str, blobs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int, int, str]]:
        """Where each match starts, start and end of the secret in it, and the kind; ``blobs`` are Base64.

        :param blobs: start and end of what is Base64
        """
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            begin = match.start()
            inside = not self.in_blobs and any(start < begin < end for start, end in blobs)
            # 20 characters have room for each prefix of _NO_SECRET_TOKEN.
            if not inside and self.proof(match[group], text[max(0, begin - 20) : begin]):
                yield begin, match.start(group), match.end(), self.kind


_PARTS = {"{colon}": _COLON, "{word}": _WORD, "{logins}": LOGIN_NAMES, "{keys}": KEY_NAMES}


@lru_cache(maxsize=1)
def built_in_secret_shapes() -> tuple[Shape, ...]:
    text = files("toolreel._secrets").joinpath("shapes.toml").read_text("utf-8")
    shapes = []
    for entry in tomllib.loads(text)["shape"]:
        pattern: str = entry["pattern"]
        for name, shared in _PARTS.items():
            pattern = pattern.replace(name, shared)
        proof = _randomness_check(entry["run"]) if "run" in entry else _PROOFS[entry.get("proof", "")]
        source = pattern if entry.get("inside") else _START + pattern
        shapes.append(Shape(entry["kind"], lazy_pattern(source), tuple(entry["hints"]), proof))
    return tuple(shapes)


EMAIL = Shape(
    "e-mail address",
    # Bounded by the lengths of a local part (64: RFC 5321, 4.5.3.1.1) and of a label (63: RFC 1035, 2.3.4).
    lazy_pattern(
        r"(?<![\w.+-])[\w.+-]{1,64}@(?!example\.|localhost)[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}"
    ),
    ("@",),
)
"""Searched only if the project's rules say so."""


# A project's rules for secrets: a TOML file, named by ``TOOLREEL_SECRETS`` or an option.
#
# ::
#
#     allow = ["sk-test-*", "AKIAIOSFODNN7EXAMPLE"]  # no secrets, whatever they look like; * is any text
#     variables = ["STAFF_LOGIN"]                    # their values are secret as well
#     emails = true                                  # e-mail addresses are, too
#
#     [patterns]
#     "staff number" = "EMP-[0-9]{6}"                # further shapes, as regular expressions


SECRETS_VARIABLE = "TOOLREEL_SECRETS"


@dataclass(frozen=True, slots=True)
class SecretRules:
    allowed: tuple[str, ...] = ()
    """Texts that are not secrets, with ``*`` as a wildcard."""
    variables: tuple[str, ...] = ()
    """More environment variables with secret values."""
    shapes: tuple[Shape, ...] = field(default_factory=built_in_secret_shapes)

    def allows(self, secret: str) -> bool:
        return any(matches_wildcard(pattern, secret) for pattern in self.allowed)


def rules_from_environment(environ: Mapping[str, str] | None = None) -> SecretRules:
    named = (os.environ if environ is None else environ).get(SECRETS_VARIABLE, "")
    if not named:
        return SecretRules()
    changed = 0
    with suppress(OSError):  # reading it says why
        changed = Path(named).stat().st_mtime_ns
    return read_rules(Path(named), changed)


@lru_cache(maxsize=8)
def read_rules(path: Path, _changed: int = 0) -> SecretRules:
    """The rules in a file.

    :param _changed: the time of its last change, which makes the cache read an edited file again
    """
    missing = f"is missing (named by {SECRETS_VARIABLE})"
    return read_toml(
        str(path), read_text_file(path, SecretRulesError, missing), _parse_rules, SecretRulesError
    )


def _parse_rules(tree: Mapping[str, Any]) -> SecretRules:
    table = Table.of(tree).only("allow", "emails", "patterns", "variables")
    allowed = table.names("allow")
    if not all(text.strip("*") for text in allowed):
        raise table.error_at("allows every text", "allow")
    patterns = table.table("patterns")
    own = [_custom_shape(kind, patterns) for kind in patterns.values]
    emails = [EMAIL] * bool(table.value("emails", bool))
    # Of matches that begin at the same place, the first shape names the kind: that of the project.
    return SecretRules(allowed, table.names("variables"), (*own, *built_in_secret_shapes(), *emails))


def _custom_shape(kind: str, patterns: Table) -> Shape:
    try:
        compiled = re.compile(patterns.text(kind))
    except re.error as error:
        raise patterns.error_at(f"not a regular expression: {error}", kind) from None
    if compiled.search(""):
        raise patterns.error_at("expected a regular expression that fits no empty text", kind)
    return Shape(kind, compiled, ())
