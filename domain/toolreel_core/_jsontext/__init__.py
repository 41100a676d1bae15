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
    chain,
    damaged,
    digest,
    encodable_text,
    finite,
    finite_text,
    is_nested_deeper,
    link,
    linked_digest,
    nesting,
    parse,
    quote,
    read,
    read_tolerant,
    reason_of,
    sorted_text,
    value_or_failure,
)
from toolreel_core._jsontext.tree_access import (
    as_list,
    as_tree,
    at_json_pointer,
    calls_of,
    in_numeric_order,
    is_blank,
    items_of,
    json_text,
    json_type,
    merged,
    named_types,
    text_at,
    tree_at,
)

if TYPE_CHECKING:
    from toolreel_core._jsontext.json_repair import (
        BLANK,
        REPAIRS,
        WORDS,
        Bare,
        Flaw,
        Repair,
        SearchedText,
        Style,
        Value,
        end_of,
        members_at,
        partial_value,
        skip,
        value_at,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
