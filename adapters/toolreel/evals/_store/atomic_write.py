"""A file of text that is there whole, or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from toolreel._errors import ResultsError

__all__ = ["written"]


def written(path: Path, text: str) -> None:
    """Write a file beside the old one, and move it into its place; nobody ever sees half of it.

    :raises ResultsError: if it cannot be written
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink()
