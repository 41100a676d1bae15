"""Known secrets in the bytes of images, audio and files.

Only values that are known are looked for: patterns of keys match random bytes by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolreel._internal.errors import SecretFound
from toolreel_core._conversation.content.part import Blob


def refuse_secrets_in_blobs(blobs: Iterable[Blob], known: Mapping[str, str], where: str) -> None:
    """Reject blobs that contain a secret.

    :raises SecretFound: names the place and the variable, never the secret itself
    """
    for blob in blobs:
        if name := secret_in(blob.data, known):
            raise SecretFound(
                f"{where}: not written, {blob!r} holds the value of {name}; "
                "keep secrets out of what is attached"
            )


def secret_in(data: bytes, known: Mapping[str, str]) -> str:
    """The name of a secret whose value is in these bytes; empty if none is.

    >>> secret_in(b"PNG ... 3f2a90bc71", {"MY_KEY": "3f2a90bc71"})
    'MY_KEY'
    """
    return next((name for name, value in known.items() if value.encode("utf-8", "replace") in data), "")
