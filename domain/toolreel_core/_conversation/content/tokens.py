"""Estimated tokens of parts: a picture is not read as the text that sends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, assert_never

from toolreel_core._conversation.content.part import Audio, File, Image, Part, Text, blobs_of

IMAGE_TOKENS: Final = 1_500
"""Estimated tokens of an image of any size: about the most that OpenAI's and Anthropic's models count for
one after they have scaled it down."""
AUDIO_BYTES_PER_TOKEN: Final = 500
"""32 tokens a second of MP3 with 128 kbit/s, as Gemini counts; OpenAI counts fewer."""
FILE_BYTES_PER_TOKEN: Final = 20
"""A page of a PDF has some 50 kB, and 1,500 to 3,000 tokens as text and picture."""
FILE_TOKENS: Final = 3_000
"""Estimated tokens of a file behind a URL, whose size nobody knows before it is loaded."""


def tokens_with(parts: Sequence[Part], text: str, estimate: Callable[[str], int]) -> int:
    """Estimated tokens of a message.

    :param parts: its parts
    :param text: the message as it is sent, which holds their Base64
    :param estimate: of a text
    """
    for blob in blobs_of(parts):
        text = text.replace(blob.base64, "")
    return estimate(text) + sum(map(_tokens, parts))


def _tokens(part: Part) -> int:
    match part:
        case Text():
            return 0
        case Image():
            return IMAGE_TOKENS
        case Audio():
            return -(-part.source.size // AUDIO_BYTES_PER_TOKEN)
        case File():
            source = part.source
            return FILE_TOKENS if isinstance(source, str) else -(-source.size // FILE_BYTES_PER_TOKEN)
        case _:
            assert_never(part)
