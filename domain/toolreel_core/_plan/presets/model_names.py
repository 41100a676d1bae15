"""Names of models as patterns: in any case, ``*`` for any text, and without what routes a request.

OpenRouter takes suffixes such as ``:nitro`` or ``:free`` that choose an upstream and not a model. What
else stands behind a colon, as in Ollama's ``qwen2.5-coder:1.5b``, is part of the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolreel_core._internal.globs import fits

_ROUTES: Final = ("exacto", "extended", "floor", "free", "nitro", "online", "thinking")


def bare(model: str) -> str:
    """The name without case and without a suffix that only routes.

    >>> bare("DeepSeek/DeepSeek-V3.2:nitro"), bare("qwen2.5-coder:1.5b")
    ('deepseek/deepseek-v3.2', 'qwen2.5-coder:1.5b')
    """
    name, _, suffix = model.lower().rpartition(":")
    return name if name and suffix in _ROUTES else model.lower()


def means(pattern: str, model: str) -> bool:
    """Whether a pattern means a model.

    >>> means("qwen/qwen3-*", "Qwen/Qwen3-30B-A3B:free"), means("qwen/qwen3", "qwen/qwen3-30b")
    (True, False)
    """
    return fits(bare(pattern), bare(model))


def best(patterns: Iterable[str], model: str) -> tuple[bool, int] | None:
    """How exactly the best of some patterns means a model, as a value to compare; ``None`` if none does.

    A pattern without a star is best, else the one with the most text.
    """
    found = (_exactness(pattern) for pattern in patterns if means(pattern, model))
    return max(found, default=None)


def _exactness(pattern: str) -> tuple[bool, int]:
    return "*" not in pattern, len(bare(pattern).replace("*", ""))
