"""The public names of ``toolreel.presets``."""

from typing import TYPE_CHECKING

from toolreel.presets._catalogues import shipped, with_files

if TYPE_CHECKING:
    from toolreel.presets._token_counter import register_tokenizer

__all__ = [
    "register_tokenizer",
    "shipped",
    "with_files",
]


def __getattr__(name: str) -> object:
    """Load ``register_tokenizer`` on demand: it needs an extra, and presets need none."""
    if name == "register_tokenizer":
        from toolreel.presets._token_counter import register_tokenizer

        return register_tokenizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
