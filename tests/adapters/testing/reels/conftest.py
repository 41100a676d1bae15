from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def reel_path(tmp_path: Path) -> Path:
    """Where a reel is recorded."""
    return tmp_path / "reels" / "talk.yaml"
