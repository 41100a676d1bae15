"""Checks that tell secrets from ordinary text, and the names under which secrets occur."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Final

LOGIN_NAMES: Final = r"password|passwd|passphrase|pwd"
"""Names of passwords, as a regular expression without a group."""
KEY_NAMES: Final = (
    r"(?:api|access|secret|private|account|subscription|signing|encryption|master|service|app)[_-]?key"
    r"|secret[_-]?access[_-]?key|secret|token|credentials?"
)
"""Names of API keys and tokens, likewise."""
_NAME: Final = re.compile(rf"(?i)(?:{LOGIN_NAMES}|{KEY_NAMES})$")
_NO_SECRET_TOKEN: Final = re.compile(
    r"(?i)(?:page|paging|pagination|next|prev|previous|continuation|continue|cursor|sync|resume|change|stop"
    r"|pad|bos|eos|unk|mask|sep)[_.-]?$"
)
"""Prefixes of names such as ``next_page_token`` and ``pad_token``, which are not secret: list cursors, and
special tokens of models."""

PLACEHOLDER: Final = re.compile(
    r"(?i)redacted|example|your|placeholder|dummy|changeme|sample|\.\.\.|…|\*\*\*|xxxx|^[$%<{]|^os\.|^env|^process\."
)
"""Placeholders in examples, and references to environment variables in code."""
_SURE_PLACEHOLDER: Final = re.compile(r"(?i)redacted|example|placeholder|x{6}")
"""Unmistakable placeholders: in a random key, short words such as ``your`` may occur by chance."""
_PATH: Final = re.compile(r"^(?:[./~]|[A-Za-z]:\\|file:)")
_PLAIN_PASSWORDS: Final = frozenset({"pass", "password", "passwd", "port", "pw", "pwd", "secret", "token"})


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


def _secret(match: re.Match[str]) -> str:
    text: str = match[part(match)]
    return text


def looks_random(run: int) -> Callable[[re.Match[str]], bool]:
    """A check for a digit, mixed case or padding, and a run of at least ``run`` letters and digits."""
    long = re.compile(rf"[A-Za-z0-9]{{{run}}}")

    def proof(match: re.Match[str]) -> bool:
        text = _secret(match)
        return bool(
            re.search(r"\d|=$|[a-z][A-Z]", text) and long.search(text) and not _SURE_PLACEHOLDER.search(text)
        )

    return proof


def has_a_digit(match: re.Match[str]) -> bool:
    """Whether there is a digit: nearly all keys have one, few names do."""
    return bool(re.search(r"\d", _secret(match)))


def is_a_password(match: re.Match[str]) -> bool:
    """Whether a value has letters and digits, and is neither a path nor a placeholder."""
    text = _secret(match)
    mixed = re.search(r"\d", text) and re.search(r"[^\W\d]", text)
    return bool(mixed) and not PLACEHOLDER.search(text) and not _PATH.search(text)


def is_a_key(match: re.Match[str]) -> bool:
    """Whether a value looks random, and is neither a path, a placeholder nor a list cursor."""
    text = _secret(match)
    before = match.string[max(0, match.start() - 20) : match.start()]
    if _NO_SECRET_TOKEN.search(before) or PLACEHOLDER.search(text) or _PATH.search(text):
        return False
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text) and re.search(r"[A-Za-z0-9]{12}", text)
    return bool(mixed) and _entropy(text) >= 3  # random keys usually have more than 3.5


def _entropy(text: str) -> float:
    """The Shannon entropy of a text, in bits per character."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def are_credentials(match: re.Match[str]) -> bool:
    """Whether a text is the Base64 of ``name:password``."""
    text = _secret(match)
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text else None)
        return ":" in decoded.decode() and decoded.decode().isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False


def is_userinfo(match: re.Match[str]) -> bool:
    """Whether the password in a URL is real, not a word from an example."""
    text = _secret(match)
    return text.lower() not in _PLAIN_PASSWORDS and not PLACEHOLDER.search(text)
