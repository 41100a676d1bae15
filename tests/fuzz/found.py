"""Inputs that have shown a defect: made small, kept in ``found/``, and replayed by every ``make test``."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Final

from tests.fuzz.draw import plain

FOUND: Final = Path(__file__).parent / "found"
"""A folder for each target, with a file for each input."""
_TRIES: Final = 3_000
_SECONDS: Final = 120
"""What making an input small may take."""

Check = Callable[[bytes], None]


def kept() -> list[Path]:
    """All kept inputs."""
    return sorted(path for path in FOUND.glob("*/*") if path.is_file())


def keep(target: str, data: bytes, root: Path = FOUND) -> Path:
    """Where an input is kept from now on; fragments are written out, so that it keeps its meaning."""
    data = plain(data)
    path = root / target / sha256(data).hexdigest()[:8]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def complaint(check: Check, data: bytes) -> str:
    """Where a check fails, empty if it holds."""
    try:
        check(data)
    except Exception as error:  # noqa: BLE001 - whatever a normaliser raises is what is looked for
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {frame.name}, line {frame.lineno}"
    return ""


def minimised(check: Check, data: bytes) -> bytes:
    """A shorter input with the same complaint, found by leaving out ever smaller parts."""
    data = plain(data)
    wanted = complaint(check, data)
    size, tries, end = len(data) // 2, 0, monotonic() + _SECONDS
    while wanted and size and tries < _TRIES and monotonic() < end:
        place, before = 0, data
        while place < len(data) and tries < _TRIES and monotonic() < end:
            tries += 1
            shorter = data[:place] + data[place + size :]
            if complaint(check, shorter) == wanted:
                data = shorter
            else:
                place += size
        size = size if data != before else size // 2
    return data
