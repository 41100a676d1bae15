"""The words before a call that is a whole message, such as a code fence: they announce it, or only show it.

A model that calls a tool speaks of itself: "I'll look.", "Let me check:". A label such as "Example:" or
"Rejected request:" speaks of a call that somebody could make.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

_LEADING_OVER: Final = (":", ",", "：", "\uff0c")
_BLANK_OR_MARKUP: Final = "*_#>` \t\r\n"
"""Around a sentence: blanks, and what makes it bold, a heading or a quotation."""

_ENDS: Final = (*_LEADING_OVER, ".", "!", "?", ";", "。", "\uff01", "\uff1f")
"""The end of a sentence, or of what leads over to a call."""
_MARKUP: Final = re.compile(r"""[<>\[\]{}`"|✿]""")
"""Signs of markup, code and quotations: what is behind them is another sentence."""
_CONTINUES: Final = tuple(",;:)\u2013")
"""Signs with which a sentence goes on."""
_WORD: Final = re.compile(r"[^\W\d_]{2}[^\W_]*+")
_SENTENCE: Final = 3
"""Words of a sentence that a call stands in."""

LeadIn: TypeAlias = Literal["announced", "shown", "unclear"]
"""Whether words announce a call of the model, show an example, or leave it open."""

_SENTENCE_END: Final = re.compile("(?<=[.!?。\uff01\uff1f])\\s+|\\n")
"""The end of a sentence, also in Chinese and Japanese."""
_EXAMPLE: Final = re.compile(
    r"\b(?:examples?|for instance|e\.\s?g|such as|sample|look(?:s|ed)? like|hypothetical|imaginary"
    r"|would (?:be|look|have)"
    r"|beispiel|z\.\s?b|par exemple|por ejemplo|por exemplo|ejemplo|exemplo|exemple|esempio)\b"
    r"|例如|比如|示例|例子|例：|例:|예시|예를 들어|например|пример",
    re.IGNORECASE,
)
"""Words that announce an example, in the languages that models answer in most."""
_LABEL: Final = re.compile(
    r"\b(?:like (?:this|so|that)|as follows|format(?:ted)?|syntax|template|placeholder|usage|schema"
    r"|rejected|refused|denied|forbidden|disallowed|not allowed|never|invalid|malformed|incorrect|wrong|bad"
    r"|broken|failed|documentation)\b",
    re.IGNORECASE,
)
"""Words of a label. A model that speaks of itself may use them too: "Let me fix the invalid request:"."""
_SPEAKS: Final = re.compile(
    # Pronouns of the first person, and what English leaves out before a call.
    r"\b(?:i|let me|let us|let's|let’s|we|my|us"
    r"|ich|wir|je|j'|j’|nous|yo|voy|vamos|déjame|eu|vou|io|ora|ik|jag|jeg)\b"
    r"|\A(?:ok(?:ay)?|sure|next|now|then|first|finally|calling|invoking|running|using|searching|looking"
    r"|checking|fetching|reading|writing|getting|executing|querying)\b"
    r"|\baction\W*\Z|\A(?:the )?(?:tool|function)[ _]calls?\W*\Z"
    r"|[我让来咱]|私|제가|\bя\b",
    re.IGNORECASE,
)


def lead_in(lead: str) -> LeadIn:
    """What the last sentence before a call makes of it.

    >>> lead_in("I'll look it up:"), lead_in("Example:"), lead_in("Anfrage:")
    ('announced', 'shown', 'unclear')
    """
    last = _last_sentence(lead)
    speaks = _SPEAKS.search(last)
    if _EXAMPLE.search(last) or (_LABEL.search(last) and not speaks):
        return "shown"
    return "announced" if speaks or not last.endswith((":", "：")) else "unclear"


def is_in_a_sentence(before: str, behind: str) -> bool:
    """Whether a sentence that does not announce a call goes on in its line, before it or behind it.

    >>> (
    ...     is_in_a_sentence("The request was", ""),
    ...     is_in_a_sentence("I ask:", ""),
    ...     is_in_a_sentence("Now I ask", ""),
    ... )
    (True, False, False)
    >>> is_in_a_sentence("", ", and the answer was yes"), is_in_a_sentence("", "Then I go on.")
    (True, False)
    """
    before, behind = _MARKUP.split(before)[-1].rstrip(), _MARKUP.split(behind, maxsplit=1)[0]
    if before.endswith(_ENDS):
        return False
    last = _last_sentence(before)
    if len(_WORD.findall(last)) >= _SENTENCE and not _SPEAKS.search(last):
        return True
    goes_on = behind[:1].islower() or behind[:1] in _CONTINUES
    return goes_on and len(_WORD.findall(behind)) >= _SENTENCE


def shows_an_example(before: str) -> bool:
    r"""Whether text that leads over to a call, with a colon or comma, makes it an example.

    >>> shows_an_example("Here is an example,\n"), shows_an_example("Let me fix the wrong call:")
    (True, False)
    """
    leads_over = (
        before.rstrip(_BLANK_OR_MARKUP).removesuffix("\\n").removesuffix("\\n").endswith(_LEADING_OVER)
    )
    return leads_over and lead_in(before) == "shown"


def _last_sentence(text: str) -> str:
    plain = text.replace("\\n", "\n").strip()
    return _SENTENCE_END.split(plain)[-1].strip(_BLANK_OR_MARKUP)
