"""What tells a secret from words: proofs of what only looks like one, and the names of secrets."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Final

__all__ = [
    "KEY_NAMES",
    "LOGIN_NAMES",
    "PLACEHOLDER",
    "are_credentials",
    "has_a_digit",
    "is_a_key",
    "is_a_password",
    "is_userinfo",
    "looks_random",
    "names_a_secret",
    "part",
]

LOGIN_NAMES: Final = r"password|passwd|passphrase|pwd"
"""Names under which people's passwords stand, as an alternative of regular expressions."""
KEY_NAMES: Final = (
    r"(?:api|access|secret|private|account|subscription|signing|encryption|master|service|app)[_-]?key"
    r"|secret[_-]?access[_-]?key|secret|token|credentials?"
)
"""Names under which the keys of machines stand, likewise."""
_NAME: Final = re.compile(rf"(?i)(?:{LOGIN_NAMES}|{KEY_NAMES})$")
_NO_SECRET_TOKEN: Final = re.compile(
    r"(?i)(?:page|paging|pagination|next|prev|previous|continuation|continue|cursor|sync|resume|change|stop"
    r"|pad|bos|eos|unk|mask|sep)[_.-]?$"
)
"""What stands before ``token`` where it is no secret: places in a list, and words of a model."""

PLACEHOLDER: Final = re.compile(
    r"(?i)redacted|example|your|placeholder|dummy|changeme|sample|\.\.\.|…|\*\*\*|xxxx|^[$%<{]|^os\.|^env|^process\."
)
"""What stands where somebody should put a secret."""
_STAND_IN: Final = re.compile(r"(?i)redacted|example|placeholder|x{6}")
"""The same in a text that is otherwise like a key, where a short word may come by chance."""
_PLACE: Final = re.compile(r"^(?:[./~]|[A-Za-z]:\\|file:)")
_PLAIN_PASSWORDS: Final = frozenset({"pass", "password", "passwd", "port", "pw", "pwd", "secret", "token"})


def names_a_secret(name: str) -> bool:
    """Whether what stands under this name may be a secret, if it looks like one.

    >>> names_a_secret("OPENAI_API_KEY"), names_a_secret("max_tokens"), names_a_secret("next_page_token")
    (True, False, False)
    """
    match = _NAME.search(name)
    return match is not None and not _NO_SECRET_TOKEN.search(name[: match.start()])


def part(match: re.Match[str]) -> str | int:
    """The group of a match that is the secret."""
    return "secret" if "secret" in match.re.groupindex else 0


def _secret(match: re.Match[str]) -> str:
    text: str = match[part(match)]
    return text


def looks_random(run: int) -> Callable[[re.Match[str]], bool]:
    """Something that words do not have, and a run of letters and digits that is long enough."""
    long = re.compile(rf"[A-Za-z0-9]{{{run}}}")

    def proof(match: re.Match[str]) -> bool:
        text = _secret(match)
        return bool(re.search(r"\d|=$|[a-z][A-Z]", text) and long.search(text) and not _STAND_IN.search(text))

    return proof


def has_a_digit(match: re.Match[str]) -> bool:
    """Keys nearly always have one, and names hardly ever."""
    return bool(re.search(r"\d", _secret(match)))


def is_a_password(match: re.Match[str]) -> bool:
    """Letters and digits, and neither a path nor a placeholder."""
    text = _secret(match)
    told = re.search(r"\d", text) and re.search(r"[^\W\d]", text)
    return bool(told) and not PLACEHOLDER.search(text) and not _PLACE.search(text)


def is_a_key(match: re.Match[str]) -> bool:
    """Letters and digits without order, and neither a path, a placeholder nor a place in a list."""
    text = _secret(match)
    before = match.string[max(0, match.start() - 20) : match.start()]
    if _NO_SECRET_TOKEN.search(before) or PLACEHOLDER.search(text) or _PLACE.search(text):
        return False
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text) and re.search(r"[A-Za-z0-9]{12}", text)
    return bool(mixed) and _entropy(text) >= 3


def _entropy(text: str) -> float:
    """Bits a character, as often as each of them stands in the text."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def are_credentials(match: re.Match[str]) -> bool:
    """Base64 of a name and a password."""
    text = _secret(match)
    try:
        said = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text else None)
        return ":" in said.decode() and said.decode().isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False


def is_userinfo(match: re.Match[str]) -> bool:
    """A password in a URL that is no word from a manual."""
    text = _secret(match)
    return text.lower() not in _PLAIN_PASSWORDS and not PLACEHOLDER.search(text)
