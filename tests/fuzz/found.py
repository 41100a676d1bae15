"""Inputs that have shown a defect, kept in ``found/`` and replayed by every ``make test``."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from tests.fuzz.draw import plain

FOUND = Path(__file__).parent / "found"
"""A folder for each target, with a file for each input."""


def kept() -> list[Path]:
    """All kept inputs."""
    return sorted(path for path in FOUND.glob("*/*") if path.is_file())


def keep(target: str, data: bytes) -> Path:
    """Where an input is kept from now on; fragments are written out, so that it keeps its meaning."""
    data = plain(data)
    path = FOUND / target / sha256(data).hexdigest()[:8]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
