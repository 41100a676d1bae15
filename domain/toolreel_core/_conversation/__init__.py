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
        media_type_of_bytes,
        normalized_media_type,
        omitted_part_sentence,
        parse_part,
        parse_url_source,
        parts_for_provider,
        parts_text,
        readable_parts_text,
        unsupported_part_error,
        wire_part,
        with_digests_for_base64,
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
        is_summary,
        is_user_authored,
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
        parts_of_message,
        readable_content,
        wire_text,
        wire_tree,
        write_message,
    )
    from toolreel_core._conversation.message_input import (
        Messages,
        Said,
        messages_from,
        messages_from_input,
        messages_to,
        parse_chat_message,
        user_message,
    )
    from toolreel_core._conversation.transcript import (
        BLOCK,
        Quotable,
        Rope,
        StoredMessages,
        Transcript,
        is_restorable_from_wire,
        stored_message_text,
    )
    from toolreel_core._conversation.valid_history import (
        Outgoing,
        Projection,
        project_history,
        unused_call_id,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
