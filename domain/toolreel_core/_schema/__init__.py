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
        refused_nulls,
        simple_schema_predicate,
        unknown_key_violations,
        violating_paths,
        violations,
    )
    from toolreel_core._schema.walk import inline_references, map_subschemas, schemas_in
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
