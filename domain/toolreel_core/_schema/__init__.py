"""JSON Schema: validation, and rewriting for providers that take a subset."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._schema.foreign import modern, usable
    from toolreel_core._schema.subsets import gemini_subset
    from toolreel_core._schema.validation import (
        MAX_LEVELS,
        Violation,
        broken_places,
        check_schema,
        common_check,
        refused_nulls,
        unknown_keys,
        violations,
    )
    from toolreel_core._schema.walk import changed_within, inlined, schemas_in
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
