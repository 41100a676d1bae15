"""Rules for secrets: patterns of keys, and what a project allows or adds."""

from __future__ import annotations

import base64
import binascii
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from toolreel._internal import SecretRulesError, read_file, read_toml
from toolreel_core._config_checks import Table, fits
from toolreel_core._lazy_pattern import lazy_pattern

# Regular expressions for secrets: the formats of known API keys, and values with the name of a secret.
#
# All of them also work on JSON-escaped text, where a line break is ``\n`` and a slash may be ``\/``, and take
# linear time on any text: repetitions are bounded or possessive. If ordinary text can match too, ``proof``
# confirms or rejects the match. Also the names under which secrets occur.


LOGIN_NAMES: Final = r"password|passwd|passphrase|pwd"
"""Names of passwords, as a regular expression without a group."""
KEY_NAMES: Final = (
    r"(?:api|access|secret|private|account|subscription|signing|encryption|master|service|app)[_-]?key"
    r"|secret[_-]?access[_-]?key|secret|token|credentials?"
)
"""Names of API keys and tokens, likewise."""
_NAME: Final = lazy_pattern(rf"(?i)(?:{LOGIN_NAMES}|{KEY_NAMES})$")
"""The name of a key whose value is a secret."""
_NO_SECRET_TOKEN: Final = lazy_pattern(
    r"(?i)(?:page|paging|pagination|next|prev|previous|continuation|continue|cursor|sync|resume|change|stop"
    r"|pad|bos|eos|unk|mask|sep)[_.-]?$"
)
"""Prefixes of names such as ``next_page_token`` and ``pad_token``, which are not secret: list cursors, and
special tokens of models."""

PLACEHOLDER: Final = lazy_pattern(
    r"(?i)redacted|example|your|placeholder|dummy|changeme|sample|\.\.\.|…|\*\*\*|xxxx|^[$%<{]|^os\.|^env|^process\."
)
"""Placeholders in examples, and references to environment variables in code."""
_SURE_PLACEHOLDER: Final = lazy_pattern(r"(?i)redacted|example|placeholder|x{6}")
"""Unmistakable placeholders: in a random key, short words such as ``your`` may occur by chance."""
_PATH: Final = lazy_pattern(r"^(?:[./~]|[A-Za-z]:\\|file:)")
"""A value that is a path, and no secret."""
_PLAIN_PASSWORDS: Final = frozenset({"pass", "password", "passwd", "port", "pw", "pwd", "secret", "token"})


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether a value with this name may be a secret.

    >>> names_a_secret("OPENAI_API_KEY"), names_a_secret("max_tokens"), names_a_secret("next_page_token")
    (True, False, False)
    """
    match = _NAME.search(name)
    return match is not None and not _NO_SECRET_TOKEN.search(name[: match.start()])


def part(match: re.Match[str]) -> str | int:
    """The group of a match that contains the secret."""
    return "secret" if "secret" in match.re.groupindex else 0


def _secret_group(match: re.Match[str]) -> str:
    text: str = match[part(match)]
    return text


def looks_random(run: int) -> Callable[[re.Match[str]], bool]:
    """A check for a digit, mixed case or padding, and a run of at least ``run`` letters and digits."""
    long = lazy_pattern(rf"[A-Za-z0-9]{{{run}}}")

    def proof(match: re.Match[str]) -> bool:
        text = _secret_group(match)
        return bool(
            re.search(r"\d|=$|[a-z][A-Z]", text) and long.search(text) and not _SURE_PLACEHOLDER.search(text)
        )

    return proof


def has_a_digit(match: re.Match[str]) -> bool:
    """Whether there is a digit: nearly all keys have one, few names do."""
    return bool(re.search(r"\d", _secret_group(match)))


def is_a_password(match: re.Match[str]) -> bool:
    """Whether a value has letters and digits, and is neither a path nor a placeholder."""
    text = _secret_group(match)
    mixed = re.search(r"\d", text) and re.search(r"[^\W\d]", text)
    return bool(mixed) and not PLACEHOLDER.search(text) and not _PATH.search(text)


def is_a_key(match: re.Match[str]) -> bool:
    """Whether a value looks random, and is neither a path, a placeholder nor a list cursor."""
    text = _secret_group(match)
    before = match.string[max(0, match.start() - 20) : match.start()]
    if _NO_SECRET_TOKEN.search(before) or PLACEHOLDER.search(text) or _PATH.search(text):
        return False
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text) and re.search(r"[A-Za-z0-9]{12}", text)
    return bool(mixed) and _shannon_entropy(text) >= 3  # random keys usually have more than 3.5


def _shannon_entropy(text: str) -> float:
    """The Shannon entropy of a text, in bits per character."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def are_credentials(match: re.Match[str]) -> bool:
    """Whether a text is the Base64 of ``name:password``."""
    text = _secret_group(match)
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text else None)
        return ":" in decoded.decode() and decoded.decode().isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False


def is_userinfo(match: re.Match[str]) -> bool:
    """Whether the password in a URL is real, not a word from an example."""
    text = _secret_group(match)
    return text.lower() not in _PLAIN_PASSWORDS and not PLACEHOLDER.search(text)


_START: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
"""Where a key may start: not inside a word, except after an escape such as ``\\n``, whose letter is not
part of a word."""

_COLON: Final = r"\\{0,3}[\"']?\s{0,9}[:=]\s{0,9}\[?\s{0,9}\\{0,3}[\"']?"
"""Between a name and its value, in HTTP, JSON (also escaped), Python, YAML and shells."""

_WORD: Final = r"[^\s\"'`,;&<>{}()\[\]\\]"
"""A character of an unquoted value."""

_BLOB: Final = lazy_pattern(r"[A-Za-z0-9+/]{256,}")
"""Base64 of an image or audio, in which short patterns match by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The pattern of one kind of secret."""

    kind: str
    pattern: re.Pattern[str]
    """The secret is the group ``secret``, or the whole match."""
    hints: tuple[str, ...]
    """Lower-case texts, one of which every match contains: a fast check that skips most texts.

    A pattern of a project has none, and is always searched.
    """
    proof: Callable[[re.Match[str]], bool] = bool
    """Whether a match is a secret and not ordinary text."""


def shaped(text: str, shapes: tuple[Shape, ...]) -> Iterator[tuple[int, int, int, str]]:
    """The matches of shapes in a text: start and end, start of the secret in it, and the kind."""
    blobs = [match.span() for match in _BLOB.finditer(text)] if len(text) > 256 else []
    for shape in shapes:
        for match in shape.pattern.finditer(text):
            inside = any(start < match.start() < end for start, end in blobs)
            if not inside and shape.proof(match):
                yield match.start(), match.end(), match.start(part(match)), shape.kind


def _make_shape(
    kind: str,
    pattern: str,
    hints: str,
    proof: Callable[[re.Match[str]], bool] = bool,
    *,
    whole: bool = False,
) -> Shape:
    return Shape(kind, lazy_pattern(pattern if whole else _START + pattern), tuple(hints.split()), proof)


_PREFIXED: Final = {
    "Google API key": r"AIza[0-9A-Za-z_-]{35,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "Groq key": r"gsk_[A-Za-z0-9]{30,}",
    "xAI key": r"xai-[A-Za-z0-9]{30,}",
    "Perplexity key": r"pplx-[A-Za-z0-9]{30,}",
    "Replicate token": r"r8_[A-Za-z0-9]{30,}",
    "Cerebras key": r"csk-[A-Za-z0-9]{30,}",
    "NVIDIA key": r"nvapi-[A-Za-z0-9_-]{40,}",
    "LangSmith key": r"lsv2_(?:pt|sk)_[A-Za-z0-9]{20,}[A-Za-z0-9_]*",
    "Databricks token": r"dapi[0-9a-f]{32}(?![0-9A-Za-z])",
    "npm token": r"npm_[A-Za-z0-9]{36,}",
    "Docker token": r"dckr_pat_[A-Za-z0-9_-]{20,}",
    "age key": r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
}
"""Formats of keys that begin with a text that hardly anything else has."""

SHAPES: Final = (
    *(
        _make_shape(kind, pattern, re.split(r"[^\w-]", pattern)[0].lower())
        for kind, pattern in _PREFIXED.items()
    ),
    _make_shape("API key", r"sk-[A-Za-z0-9_-]{20,}", "sk-", looks_random(16)),
    _make_shape(
        "bearer token",
        r"(?i)bearer(?:\s|\\[nt])+(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
        "bearer",
        looks_random(10),
        whole=True,
    ),
    _make_shape(
        "authorization header",
        rf"(?i)authorization{_COLON}(?:basic|token|apikey)\s{{1,9}}(?P<secret>[A-Za-z0-9+/._=-]{{8,}})",
        "authorization",
        looks_random(8),
        whole=True,
    ),
    _make_shape(
        "basic authorization",
        r"(?i)(?<![A-Za-z])basic(?:\s|\\[nt]){1,9}(?P<secret>[A-Za-z0-9+/_-]{8,}={0,2})",
        "basic",
        are_credentials,
        whole=True,
    ),
    _make_shape(
        "GitHub token",
        r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    ),
    _make_shape(
        "GitLab token",
        r"gl(?:pat|ptt|dt|rt|cbt|oas|ft|soat|agent|imt)-[A-Za-z0-9_.-]{20,}",
        "pat- ptt- dt- rt- cbt- oas- ft- soat- agent- imt-",
        has_a_digit,
    ),
    _make_shape(
        "AWS access key",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
        "akia asia",
        lambda match: not match[0].endswith("EXAMPLE"),  # the key in the AWS documentation
    ),
    _make_shape("Google OAuth secret", r"(?:ya29\.|GOCSPX-)[0-9A-Za-z_-]{20,}", "ya29. gocspx-"),
    _make_shape("Slack token", r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}", "xox xapp-", looks_random(10)),
    _make_shape(
        "Slack webhook",
        r"hooks\.slack\.com(?:\\?/)services(?:\\?/)T[A-Za-z0-9/\\_]{20,}",
        "hooks.slack.com",
    ),
    _make_shape(
        "Stripe key",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}=*)",
        "k_live_ k_test_ whsec_",
    ),
    _make_shape("Fireworks key", r"fw_[A-Za-z0-9]{20,}", "fw_", has_a_digit),
    _make_shape("Tavily key", r"tvly-[A-Za-z0-9-]{20,}", "tvly-", looks_random(16)),
    _make_shape("DigitalOcean token", r"do[opr]_v1_[0-9a-f]{40,}", "_v1_"),
    _make_shape("PyPI token", r"pypi-[A-Za-z0-9_-]{50,}", "pypi-", looks_random(16)),
    _make_shape("SendGrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}", "sg."),
    _make_shape("Telegram token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}", ":aa"),
    _make_shape("Vault token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}", "hvs. hvb. hvr.", has_a_digit),
    _make_shape("Shopify token", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32,}", "shpat_ shpss_ shpca_ shppa_"),
    _make_shape("Linear or Notion key", r"(?:lin_api_|ntn_)[A-Za-z0-9]{30,}", "lin_api_ ntn_"),
    _make_shape(
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)",
        "-----begin",
        whole=True,
    ),
    _make_shape(
        "cookie header",
        rf"(?i)(?:set-)?cookie{_COLON}(?P<secret>[\w.-]+=[^\s\"';\\]{{6,}})",
        "cookie",
        lambda match: not PLACEHOLDER.search(match["secret"]),
        whole=True,
    ),
    _make_shape(
        "password in a URL",
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}:(?:\\?/){2}[^\s/@:\"'\\<>]{0,64}"
        r":(?P<secret>[^\s/@\"'\\<>]{3,200})@[\w.\[-]",
        "@",
        is_userinfo,
        whole=True,
    ),
    _make_shape(
        "key in a URL",
        r"(?i)[?&](?:[\w.-]{0,40}[_.-])?(?:key|sig|signature|auth|hmac|jwt|sid|session)=(?P<secret>[\w.~%+/=-]{12,})",
        "key= sig= ature= auth= hmac= jwt= sid= session=",
        looks_random(10),
        whole=True,
    ),
    _make_shape(
        "password",
        rf"(?i)(?:{LOGIN_NAMES}){_COLON}(?P<secret>{_WORD}{{8,200}}+)(?![(\[{{])",
        "passw passphrase pwd",
        is_a_password,
        whole=True,
    ),
    _make_shape(
        "key or token",
        rf"(?i)(?:{KEY_NAMES}){_COLON}(?P<secret>{_WORD}{{16,2000}}+)(?![(\[{{])",
        "key secret token credential",
        is_a_key,
        whole=True,
    ),
)
"""All kinds of secrets; specific ones first, since the first of overlapping matches names the kind."""

EMAIL: Final = Shape(
    "e-mail address",
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


VARIABLE: Final = "TOOLREEL_SECRETS"
"""The environment variable with the path of the rules file."""


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
    changed = 0
    with suppress(OSError):  # reading it says why
        changed = Path(named).stat().st_mtime_ns
    return read_rules(Path(named), changed)


@lru_cache(maxsize=8)
def read_rules(path: Path, _changed: int = 0) -> SecretRules:
    """The rules in a file.

    :param _changed: the time of its last change, which makes the cache read an edited file again
    :raises SecretRulesError: if it cannot be read or used; names the key
    """
    missing = f"is missing (named by --secrets or {VARIABLE})"
    return read_toml(str(path), read_file(path, SecretRulesError, missing), _rules_of, SecretRulesError)


def _rules_of(tree: Mapping[str, Any]) -> SecretRules:
    table = Table.of(tree).only("allow", "emails", "patterns", "variables")
    allowed = table.names("allow")
    if not all(text.strip("*") for text in allowed):
        raise table.complaint("allows every text", "allow")
    patterns = table.table("patterns")
    own = [_custom_shape(kind, patterns) for kind in patterns.values]
    emails = [EMAIL] * table.switch("emails", False)
    return SecretRules(allowed, table.names("variables"), (*own, *SHAPES, *emails))


def _custom_shape(kind: str, patterns: Table) -> Shape:
    try:
        compiled = re.compile(patterns.text(kind))
    except re.error as error:
        raise patterns.complaint(f"not a regular expression: {error}", kind) from None
    if compiled.search(""):
        raise patterns.complaint("expected a regular expression that fits no empty text", kind)
    return Shape(kind, compiled, ())
