"""JSON Schema: validation, and rewriting for providers that take a subset."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._schema.foreign import modernize_schema, usable_schema
    from toolreel_core._schema.subsets import gemini_subset
    from toolreel_core._schema.validation import (
        MAX_LEVELS,
        Violation,
        check_schema,
        common_check,
        refused_nulls,
        unknown_keys,
        violating_paths,
        violations,
    )
    from toolreel_core._schema.walk import changed_within, inline_references, schemas_in
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
