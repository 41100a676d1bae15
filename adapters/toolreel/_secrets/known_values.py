"""Values that are known to be secret: from the environment, from URLs, from the rules of a project."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import NoReturn, Self
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit

from toolreel_core._errors import ConfigError
from toolreel_core._lazy_pattern import lazy_pattern

# URLs without their secrets.


_NAMES = (
    "key|apikey|token|secret|password|passwd|pwd|passphrase|signature|sig|hmac|sas|auth|authorization"
    "|credentials?|accesskeyid|jwt|session|sessionid|sid"
)
# A name counts as a whole word only: `api_key` and `X-Amz-Signature`, but not `monkey` or `token_limit`.
# The second half is camel case (`accessToken`, `apiKeyId`), where the capital letter marks the word.
_SECRET_PARAMETER = lazy_pattern(
    rf"(?i:(?:.*[_.-])?(?:{_NAMES}))|.*[a-z](?:Key|Token|Secret|Password|Signature|Credential)(?:Id)?"
)


_USER = lazy_pattern(r"^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)[^/?#]*@")
# Also in a fragment, in which OAuth may return a token (RFC 6749, 4.2.2).
_PARAMETER = lazy_pattern(r"(?<=[?&;#])([^=&;#]+)=[^&;#]*")


def url_safe_to_log(url: str) -> str:
    """A URL as an error, a ``repr`` or a log may quote it; also a text that is not a URL."""

    def masked(found: re.Match[str]) -> str:
        return f"{found[1]}=REDACTED" if is_secret_parameter(found[1]) else found[0]

    return _PARAMETER.sub(masked, _USER.sub(r"\1", url))


def scrubbed_url(url: str) -> str:
    """The URL without user, password and fragment, and with the values of secret parameters masked.

    >>> scrubbed_url("https://me:pw@api.test/v1/models?api_key=1234&limit=5")
    'https://api.test/v1/models?api_key=REDACTED&limit=5'
    """
    return url_safe_to_log(url.partition("#")[0])


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter of this name, as ``X-Amz-Signature`` or ``accessToken``, holds a secret."""
    return _SECRET_PARAMETER.fullmatch(unquote_plus(name)) is not None


# Secrets known by value: in environment variables and in requests.


_SECRET_NAME = lazy_pattern("KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
"""A word in the names of variables whose values are secrets."""
_PATH_NAME = lazy_pattern("(?:FILE|PATH|DIR|SOCK|CREDENTIALS)$", re.IGNORECASE)
"""The end of the name of a variable that says where a secret is kept."""
_PLACE = lazy_pattern(r"[./~]|[A-Za-z]:\\")
"""The start of a path."""
_SECRET_HEADER = lazy_pattern(r"(?i)authorization|cookie|.*(?:key|token|secret|auth|signature)")
"""The name of a header whose value is a secret."""
_KEY_HEADER = lazy_pattern(r"(?i)(?:proxy-)?authorization|(?:x-(?:goog-)?)?api-key")
"""Headers that hold the key of a server, whatever it looks like: also of Anthropic, Google and Azure."""
_KEY_PARAMETER = lazy_pattern(r"(?i)(?:(?:api|subscription)[-_]?)?key")
"""Parameters of a URL that do, such as Google's ``key`` and Azure's ``subscription-key``."""
_SCHEME = lazy_pattern(r"(?i)(?:bearer|basic|token|apikey)\s+")
"""The scheme before a credential, which is not part of it."""
_MIN_LENGTH = 8
"""Minimum of characters; a shorter value, such as ``ollama``, may be a word that prompts have too."""
_MIN_DISTINCT = 5
"""Minimum of distinct characters; a value with fewer is a mask such as ``xxxxxxxx``."""
_MIN_SENT_LENGTH = 12
"""The same for what a request sends that may not be a key, such as a cookie."""
_DUMMIES = frozenset({
    "api-key", "changeme", "dummy-key", "fake-key", "lm-studio", "lmstudio", "no-key-required", "not-needed",
    "not-required", "placeholder", "sk-no-key-required", "token-abc123", "your-api-key",
})  # fmt: skip
"""What servers without keys document as the key to send; shorter ones are not secrets anyway."""


def known_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The secret values in an environment: those with the name of a secret, and passwords in URLs.

    The file named by ``TOOLREEL_SECRETS`` may name more variables.

    >>> known_secrets({"OPENAI_API_KEY": "abcdefgh12", "HOME": "/home/somebody", "PIN_TOKEN": "1234"})
    {'OPENAI_API_KEY': 'abcdefgh12'}
    """
    from toolreel._secrets.rules import (  # reads TOML, which few programs have
        SECRETS_VARIABLE,
        rules_from_environment,
    )

    further = rules_from_environment(environ).variables
    found: dict[str, str] = {}
    for name, value in environ.items():
        is_path = _PATH_NAME.search(name) and _PLACE.match(value)
        if name in further and value.strip():
            found[name] = value
        elif name != SECRETS_VARIABLE and _SECRET_NAME.search(name) and not is_path:
            found |= {name: value} if _is_long(value) else {}
        elif password := _password_in_url(value):
            found[name] = password
    return found


def api_key_if_secret(name: str, key: str) -> dict[str, str]:
    """An API key to keep out of recordings, by the name of its variable; empty if it is not a secret.

    Servers that need no key take any, and a word such as ``ollama`` or ``test`` occurs in prompts too.

    >>> api_key_if_secret("MY_KEY", "3f2a90bc71"), api_key_if_secret("MY_KEY", "ollama")
    ({'MY_KEY': '3f2a90bc71'}, {})
    """
    secret = len(key.strip()) >= _MIN_LENGTH and key.strip().lower() not in _DUMMIES
    return {name: key.strip()} if secret else {}


def key_notice(name: str, key: str) -> str:
    """What to say about a key for which recordings are not searched; empty if there is nothing to say."""
    if not key.strip() or api_key_if_secret(name, key):
        return ""
    return f"The value of {name} is short, or what servers without keys take, so it may be in the recording."


def secrets_in_request(url: str, headers: Mapping[str, str], known: Collection[str] = ()) -> dict[str, str]:
    """The credentials in a request, by their location; a server may echo them in a body.

    :param known: further headers that hold a key, in lower case

    >>> secrets_in_request("http://a/?key=1a2b3c4d5e6f", {"Authorization": "Bearer abcdefgh1234"})
    {'the header authorization': 'abcdefgh1234', 'the parameter key': '1a2b3c4d5e6f'}
    """
    parts = urlsplit(url)
    found: dict[str, str] = {}
    for name, value in headers.items():
        is_key = name.lower() in known or bool(_KEY_HEADER.fullmatch(name))
        if is_key or _SECRET_HEADER.fullmatch(name):
            credential = _SCHEME.sub("", value.strip(), count=1)
            found |= _credential_if_secret(f"the header {name.lower()}", credential, is_key=is_key)
    for name, value in parse_qsl(parts.query) if parts.query else ():
        is_key = bool(_KEY_PARAMETER.fullmatch(name))
        if is_key or is_secret_parameter(name):
            found |= _credential_if_secret(f"the parameter {name}", value, is_key=is_key)
    password = unquote(parts.netloc.rpartition("@")[0].partition(":")[2])
    return found | _credential_if_secret("the URL", password, is_key=False)


def _credential_if_secret(place: str, value: str, *, is_key: bool) -> dict[str, str]:
    """A credential by its place, unless it may occur by chance: then it is not a secret."""
    if is_key:
        return api_key_if_secret(place, value)
    mixed = re.search(r"\d", value) and len(set(value)) >= _MIN_DISTINCT
    return {place: value} if mixed and len(value) >= _MIN_SENT_LENGTH else {}


@lru_cache(maxsize=256)
def encoded_spellings(value: str) -> tuple[str, ...]:
    in_json = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    in_json |= {spelling.replace("/", "\\/") for spelling in in_json}
    # The arguments of a call are JSON in a JSON string.
    twice = {json.dumps(spelling)[1:-1] for spelling in in_json}
    # A variable of the environment may have bytes that are not UTF-8.
    in_url = {quoting(value, safe="", errors="surrogateescape") for quoting in (quote, quote_plus)}
    in_url |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), spelling) for spelling in in_url}
    packed = {*_base64_and_hex_of(value.encode("utf-8", "surrogateescape"))}
    every = {value, *in_json, *twice, *in_url, *packed}
    # The Base64 of very few bytes depends on what is around them, down to no character at all.
    apart = (text for text in every if len(text) >= len(value))
    # The longest first, so that nothing of it is left where a shorter one is a part of it.
    return tuple(sorted(apart, key=lambda text: (-len(text), text)))


def _base64_and_hex_of(data: bytes) -> Iterator[str]:
    """The Base64 and hex of bytes inside a longer text.

    Base64 encodes groups of three bytes, so it depends on the offset modulo 3; characters at both ends also
    depend on the neighbours, and are cut off.
    """
    for before in range(3):
        whole = bytes(before) + data
        first, last = -(-before * 4 // 3), len(whole) * 4 // 3
        for altchars in (b"+/", b"-_"):
            coded = base64.b64encode(whole, altchars).decode()
            yield coded[first:last]
    yield data.hex()
    yield data.hex().upper()


def _is_long(value: str) -> bool:
    return len(value.strip()) >= _MIN_LENGTH and len(set(value)) >= _MIN_DISTINCT


def _password_in_url(value: str) -> str:
    if "://" not in value or "@" not in value:
        return ""
    try:
        password = urlsplit(value.strip()).password or ""
    except ValueError:
        return ""
    return unquote(password) if _is_long(password) else ""


# ``Secret``: a value that a program may hold and never shows.


class Secret:
    """A text, such as a key, that is in no ``repr``, traceback or pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str | Secret) -> None:
        self._value = value.reveal() if isinstance(value, Secret) else value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret('…')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ConfigError("a key is not pickled; name the variable that holds it, with api_key_env=")
