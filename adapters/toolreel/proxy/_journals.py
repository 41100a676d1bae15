"""Makes the journals of a conversation from its cassette, as ``toolreel cassettes journal`` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolreel._internal import AdapterError
from toolreel._journal import sealed
from toolreel._replay import BEHIND_PROXY, recover_runs
from toolreel._secrets import known_secrets, leaks
from toolreel.cassette import Recording
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Preset, exact_config
from toolreel_core._proxy import Profile


def make_journals(cassette: Path, profile: Profile, settings: Mapping[str, Any]) -> str:
    """Write the journals next to a cassette, one a run; returns why there are none, or nothing.

    :param profile: under which its replies were read
    :param settings: of the loop; they take precedence
    """
    config, provider = exact_config(profile.config), canonical(profile.provider.changes())
    preset = Preset((BEHIND_PROXY,), config=config, provider=provider)
    try:
        runs = recover_runs(Recording.load(cassette), preset=preset, settings=settings)
        secrets = known_secrets(os.environ)
        if any(leaks(one.recorded.text, secrets) for one in runs):
            return "the journal would hold what looks like a secret"
        for number, one in enumerate(runs, 1):
            plus = "" if number == 1 else f"+{number}"
            _write_whole(
                cassette.with_name(f"{cassette.stem}{plus}.journal.jsonl"), sealed(one.recorded.text)
            )
    except (ToolreelError, AdapterError, OSError) as error:
        return str(error)
    return ""


def _write_whole(path: Path, content: bytes) -> None:
    """Write a journal whole or not at all, wherever the process ends."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
