"""Seals for stored values that travel: a keyed digest (HMAC-SHA-256) shows whether anybody else wrote them.

A state has everything that a run trusts: the tools, which of them need approval, and the running call. Anyone
who can write a stored state can therefore run any tool of the host with any arguments. Seal states that leave
your own storage, such as those in a form, a URL, a message queue or a store that others can write.
"""

from __future__ import annotations

import hmac
from typing import Final

from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._jsontext import JsonText, canonical, read

VERSION: Final = 1
_SHORTEST: Final = 16


def seal(text: str, key: bytes, *, about: str = "") -> JsonText:
    """A stored value with a seal, which :func:`unseal` checks.

    >>> key = bytes(range(32))
    >>> unseal(seal("a state", key, about="run 7"), key, about="run 7")
    'a state'

    :param text: what ``dump`` returned
    :param key: at least 16 bytes, random, known only to those who may write states
    :param about: what the value belongs to, such as the id of a job or a user; it is not stored
    :raises ConfigError: if the key is too short
    """
    return canonical({"toolreel_seal": VERSION, "hmac": _seal_digest(text, key, about), "sealed": text})


def unseal(sealed: str, key: bytes, *, about: str = "") -> str:
    """The text that was sealed, for ``load_state``.

    A seal does not show whether a value is the latest: an older state of the same run has a valid seal, too.
    Compare a counter of your own, or name it in ``about``, if that matters.

    :raises CodecError: if it was changed, or was sealed with another key or about something else
    :raises ConfigError: if the key is too short
    """
    match read(sealed).value_or(None):
        case {"toolreel_seal": int() as version, "hmac": str() as mac, "sealed": str() as text}:
            if version != VERSION:
                raise CodecError(f"sealed in version {version}; this toolreel reads version {VERSION}")
            if not hmac.compare_digest(mac.encode(), _seal_digest(text, key, about).encode()):
                raise CodecError(
                    "the seal does not fit: the value was changed, or sealed with another key or `about`"
                )
            return text
        case _:
            raise CodecError("not a sealed value: expected an object with toolreel_seal, hmac and sealed")


def _seal_digest(text: str, key: bytes, about: str) -> str:
    if type(key) is not bytes or len(key) < _SHORTEST:
        raise ConfigError(
            f"key: expected at least {_SHORTEST} random bytes, for example secrets.token_bytes(32)"
        )
    # Canonical JSON of the parts, so that no text can be moved from one part to another.
    parts = canonical(["toolreel_seal", VERSION, about, text])
    return hmac.new(key, parts.encode(), "sha256").hexdigest()
