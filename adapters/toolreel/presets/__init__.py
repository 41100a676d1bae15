"""Preset catalogues from files, and exact token counts with a model's tokenizer."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.presets._catalogues import (
        CATALOGUE_VARIABLE,
        chosen_preset,
        merge_named_presets,
        preset_for_provider,
        preset_named,
        shipped,
        with_files,
    )
    from toolreel.presets._token_counter import register_tokenizer
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "register_tokenizer",
    "shipped",
    "with_files",
]
