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
