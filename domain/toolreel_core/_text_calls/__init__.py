"""Tool calls written as text, in the dialects of many models.

``parse`` is the entry point. A dialect is data in ``dialects``, its openers are in ``markers``, and a small
decoder in ``elements`` or ``named_calls`` reads the text after an opener. ``whole_message`` reads messages
without markers.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._text_calls.decoder_interface import (
        Made,
        Rejection,
        TextCall,
        TextCalls,
        text_call_if_valid,
    )
    from toolreel_core._text_calls.dialects import (
        BARE,
        DIALECTS,
        MARKED,
        abbreviated_dialect_names,
        has_think_tags,
        is_free_of_markup,
    )
    from toolreel_core._text_calls.markers import marker_match_at
    from toolreel_core._text_calls.parse import text_calls
    from toolreel_core._text_calls.payloads import decode_json, typed_value, unwrapped_arguments
    from toolreel_core._text_calls.quotations import (
        QUOTATION_OPENERS,
        is_quoted_from_earlier,
        leading_reasoning,
    )
    from toolreel_core._text_calls.unread_calls import (
        looks_like_a_call,
        tool_name_in_text,
        without_end_markers,
        words_without_labels,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
