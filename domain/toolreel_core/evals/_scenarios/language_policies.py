"""Language policies: in which language a scenario asks for answers, and how its messages say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from toolreel_core._conversation.message import Message, SystemMessage, UserMessage
from toolreel_core._internal.wildcards import fits

OFF: Final = "off"
"""The policy that asks for no language."""

_MATRIX: Final = (OFF, "zh-CN", "ja-JP")
_NONE: Final = frozenset({"off", "disabled", "none", "0", "false"})
_ALL: Final = frozenset({"all", "full", "*", "on", "enabled", "1", "true"})
_SYNONYMS: Final[Mapping[str, str]] = {
    "en": "en-US",
    "zh-cn": "zh-CN",
    "zh-hans": "zh-CN",
    "zh-hans-cn": "zh-CN",
    "zh-tw": "zh-TW",
    "zh-hant": "zh-TW",
    "zh-hant-tw": "zh-TW",
    "ko": "ko-KR",
    "ja": "ja-JP",
    "yue": "yue-HK",
}
_CANONICAL: Final = {tag.lower(): tag for tag in _SYNONYMS.values()}

_WORDS: Final[Mapping[str, str]] = {
    "zh-CN": "完成。",
    "zh-TW": "完成。",
    "yue-HK": "搞掂。",
    "ja-JP": "完了しました。",
    "ko-KR": "완료했습니다.",
}
"""The completion word, where it is not the English one."""
_DONE: Final = "Done."


def language_of(word: str) -> str:
    """The language that a word means, as a tag, or ``off``; a tag that is not known stays as it is.

    >>> language_of("ja"), language_of("zh_Hans"), language_of("none"), language_of("pt-BR")
    ('ja-JP', 'zh-CN', 'off', 'pt-BR')
    """
    tag = word.strip().replace("_", "-")
    low = tag.lower()
    if low in _NONE:
        return OFF
    return _SYNONYMS.get(low) or _CANONICAL.get(low) or tag


def select_languages(words: Iterable[str]) -> tuple[str, ...]:
    """The language policies that a filter means, each once, in its order.

    Nothing means ``off`` alone; ``all`` means ``off``, Chinese and Japanese; ``!ja`` takes one away.

    >>> select_languages([]), select_languages(["on", "!ja"]), select_languages(["ko", "off", "ko-KR"])
    (('off',), ('off', 'zh-CN'), ('ko-KR', 'off'))
    """
    given = [word.strip() for word in words]
    wanted = [word for word in given if word and not word.startswith("!")]
    excluded = [language_of(word[1:]) for word in given if word.startswith("!") and word[1:].strip()]
    if not wanted:
        wanted = [OFF] if not excluded else ["all"]
    listed = (tag for word in wanted for tag in (_MATRIX if word.lower() in _ALL else (language_of(word),)))
    kept = tuple(
        tag
        for tag in dict.fromkeys(listed)
        if not any(fits(pattern.lower(), tag.lower()) for pattern in excluded)
    )
    return kept or (OFF,)


def completion_word(language: str) -> str:
    """The final text of a finished task in that language."""
    return _WORDS.get(language, _DONE)


def localised(text: str, language: str) -> str:
    """A text of a scenario with the completion word of the language.

    >>> localised("Then answer: Done.", "ja-JP")
    'Then answer: 完了しました。'
    """
    return text.replace(_DONE, completion_word(language))


def policy_text(language: str) -> str:
    """The instruction about the language in the system message."""
    return (
        f"Language: write every answer to the user in {language}. Names of tools, arguments, paths and values"
        " are no prose; leave them as they are."
    )


def with_language_policy(messages: Iterable[Message], language: str) -> tuple[Message, ...]:
    """The conversation under a language policy, which its first system message states."""
    if language in ("", OFF):
        return tuple(messages)
    localised_messages = list[Message]()
    block = f"\n\n{policy_text(language)}"
    for message in messages:
        if isinstance(message, SystemMessage):
            localised_messages.append(SystemMessage(localised(message.content, language) + block))
            block = ""
        elif isinstance(message, UserMessage):
            localised_messages.append(replace(message, content=localised(message.content, language)))
        else:
            localised_messages.append(message)
    return (SystemMessage(block.strip()), *localised_messages) if block else tuple(localised_messages)


def localised_follow_ups(said: tuple[str, ...], language: str) -> tuple[str, ...]:
    """What the user says later, with the completion word of the language."""
    if language in ("", OFF):
        return said
    return tuple(localised(each, language) for each in said)
