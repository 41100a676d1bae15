"""Parts of messages (text, pictures, sound, files, calls), and messages from and to dicts."""

from toolreel_core._conversation import (
    Audio,
    Blob,
    File,
    Image,
    Media,
    Part,
    Said,
    SentCall,
    Text,
    messages_from,
    messages_to,
    user_message,
)

__all__ = [
    "Audio",
    "Blob",
    "File",
    "Image",
    "Media",
    "Part",
    "Said",
    "SentCall",
    "Text",
    "messages_from",
    "messages_to",
    "user_message",
]
