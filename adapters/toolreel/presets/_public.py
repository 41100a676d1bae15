"""The public names of ``toolreel.presets``."""

from toolreel.presets._catalogues import shipped, with_files
from toolreel.presets._tokenizer import register_tokenizer

__all__ = [
    "register_tokenizer",
    "shipped",
    "with_files",
]
