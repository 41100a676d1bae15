"""Patterns of model names: which models a pattern means, and which of several patterns is most exact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolreel_core._internal import fits

# OpenRouter's suffixes that choose an upstream, not a model; `:1.5b` is part of an Ollama name.
_ROUTES: Final = ("exacto", "extended", "floor", "free", "nitro", "online", "thinking")


def bare(model: str) -> str:
    """The name in lower case, without a suffix that only routes.

    >>> bare("DeepSeek/DeepSeek-V3.2:nitro"), bare("qwen2.5-coder:1.5b")
    ('deepseek/deepseek-v3.2', 'qwen2.5-coder:1.5b')
    """
    name, _, suffix = model.lower().rpartition(":")
    return name if name and suffix in _ROUTES else model.lower()


def means(pattern: str, model: str) -> bool:
    """Whether a pattern matches a model.

    >>> means("qwen/qwen3-*", "Qwen/Qwen3-30B-A3B:free"), means("qwen/qwen3", "qwen/qwen3-30b")
    (True, False)
    """
    return fits(bare(pattern), bare(model))


def best(patterns: Iterable[str], model: str) -> tuple[bool, int] | None:
    """The comparable rank of the most exact pattern for a model; ``None`` if none matches.

    A pattern without a star is best, else the one with the most text.
    """
    fitting = [pattern for pattern in patterns if means(pattern, model)]
    ranks = (("*" not in pattern, len(bare(pattern).replace("*", ""))) for pattern in fitting)
    return max(ranks, default=None)
