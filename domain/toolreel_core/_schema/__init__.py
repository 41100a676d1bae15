"""JSON Schema: validation, and rewriting for providers that take a subset."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

from toolreel_core._schema.common_keywords import MAX_LEVELS, compiled
from toolreel_core._schema.subsets import (
    gemini_subset,
)
from toolreel_core._schema.validation import (
    Violation,
    broken_places,
    check_schema,
    refused_nulls,
    unknown_keys,
    violations,
)
from toolreel_core._schema.walk import (
    Place,
    References,
    changed_within,
    inline_defs,
    inlined,
    schemas_in,
)

if TYPE_CHECKING:
    from toolreel_core._schema.foreign import modern, usable
    from toolreel_core._schema.subsets import grammar_of
else:

    def __getattr__(name: str) -> object:
        """Load what few programs need when it is first used."""
        match name:
            case "modern" | "usable":
                from toolreel_core._schema import foreign as home
            case "grammar_of":
                from toolreel_core._schema import subsets as home
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(home, name)
