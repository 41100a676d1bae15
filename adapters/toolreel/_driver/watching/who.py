"""Names of runs in logs and traces: short, and new in each process."""

from __future__ import annotations

import os
from typing import Final

_BYTES: Final = 6


def new_name() -> str:
    """A name for a run that has none.

    It is in no journal and no digest: a run that is replayed has another one.
    """
    return os.urandom(_BYTES).hex()
