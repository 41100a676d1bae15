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
        estimate_tokens_with_parts,
        left_out_sentence,
        media_type_in,
        parse_part,
        parse_url_source,
        parts_for_provider,
        parts_text,
        readable_parts,
        unsupported_part_error,
        usual_media_type,
        wire_part,
        with_digests,
        without_empty_fields,
    )
    from toolreel_core._conversation.history_policies import (
        HISTORY_POLICIES,
        SUMMARIZE,
        Cost,
        HistoryPolicy,
        Passage,
        Turn,
        apply_history_policies,
        conversation_passages,
        drop_old_tool_turns,
        group_into_turns,
        history_policy,
        is_question,
        is_summary,
        keep_newest_turns,
        shorten_old_tool_results,
        split_for_summary,
        summary_message,
        summary_request_text,
        task_passages,
    )
    from toolreel_core._conversation.message import (
        INPUT_ITEMS,
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
        parts_of,
        readable_content,
        wire,
        wire_tree,
        write_message,
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
        stored_message_text,
        wire_is_memo,
    )
    from toolreel_core._conversation.valid_history import (
        Outgoing,
        Projection,
        free_id,
        project_history,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
