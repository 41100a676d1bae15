"""JSON text: canonical encoding, limits while parsing, digests."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

from toolreel_core._jsontext.canonical import (
    MAX_DEPTH,
    NOTHING,
    ArgumentRepairs,
    Json,
    JsonText,
    Tree,
    canonical,
    canonical_without_non_finite,
    chained_digest,
    chained_part_digest,
    digest,
    encodable_text,
    has_lone_surrogate,
    is_nested_deeper,
    json_error_reason,
    json_with_sorted_keys,
    linked_digest,
    nesting_depth,
    parse,
    quote,
    read_json,
    read_json_with_non_finite,
    value_or_failure,
    without_non_finite_numbers,
)
from toolreel_core._jsontext.tree_access import (
    as_list,
    as_tree,
    calls_of,
    in_numeric_order,
    is_blank,
    json_text,
    json_type,
    list_at,
    merged,
    schema_types,
    text_at,
    tree_at,
    value_at_json_pointer,
)

if TYPE_CHECKING:
    from toolreel_core._jsontext.json_repair import (
        BLANK,
        LITERALS,
        REPAIRS,
        Bare,
        Flaw,
        Repair,
        SearchedText,
        Style,
        Value,
        end_of_blanks,
        end_of_match,
        members_at,
        partial_value,
        value_at,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
