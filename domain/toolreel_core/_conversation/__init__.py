"""The conversation: stored messages, and their projection for a provider.

Stored history is append-only (``transcript``). What is sent is a pure projection of it:
``valid_history`` repairs, ``history_policies`` shorten, ``message`` gives each message the form that
its provider takes. ``transcript`` holds the encoded messages too, so that each is encoded once.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._conversation.content_parts import (
        FILE_TOKENS,
        IMAGE_TOKENS,
        Audio,
        Blob,
        Detail,
        File,
        Image,
        Media,
        Part,
        Text,
        blobs_of,
        fitted,
        is_taken,
        left_out,
        media_type_in,
        part_in,
        refusal,
        shown_parts,
        source_of,
        text_of,
        tokens_with,
        usual_media_type,
        wire_part,
        with_digests,
    )
    from toolreel_core._conversation.history_policies import (
        HISTORY_POLICIES,
        SUMMARIZE,
        Cost,
        HistoryPolicy,
        Passage,
        Turn,
        as_task,
        drop_old_tool_turns,
        history_policy,
        is_question,
        is_summary,
        keep_newest_turns,
        parted,
        passages,
        reduced,
        request_text,
        shorten_old_tool_results,
        summary_message,
        turns,
    )
    from toolreel_core._conversation.message import (
        MESSAGES_ITEMS,
        REASONING,
        AssistantMessage,
        Form,
        Items,
        Message,
        SentCall,
        SystemMessage,
        ToolMessage,
        UserMessage,
        Written,
        brief_repr,
        messages_text,
        parts_of,
        responses_texts,
        shown_content,
        wire,
        wire_tree,
        written,
    )
    from toolreel_core._conversation.message_input import (
        Messages,
        Said,
        message_in,
        messages_from,
        messages_of,
        messages_to,
        user_message,
    )
    from toolreel_core._conversation.transcript import (
        BLOCK,
        Quotable,
        Rope,
        StoredMessages,
        Transcript,
        memo,
        tokens_of,
        wire_is_memo,
    )
    from toolreel_core._conversation.valid_history import (
        Outgoing,
        Projection,
        free_id,
        projected,
    )
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
