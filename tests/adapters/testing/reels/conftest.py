from __future__ import annotations

from pathlib import Path

import pytest

from toolreel.testing import ReelFiles


@pytest.fixture
def files(tmp_path: Path) -> ReelFiles:
    """Where a reel is recorded."""
    return ReelFiles(tmp_path / "reels" / "talk.yaml")
