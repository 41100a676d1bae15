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
    deeper,
    digest,
    either,
    finite,
    finite_text,
    link,
    linked,
    nesting,
    parse,
    quote,
    read,
    read_tolerant,
    reason_of,
    sorted_text,
    sound,
)
from toolreel_core._jsontext.tree_access import (
    as_list,
    as_tree,
    calls_of,
    in_order,
    is_blank,
    items_of,
    json_text,
    json_type,
    merged,
    named_types,
    pointed,
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
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
