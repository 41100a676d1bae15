"""Results of tools that a journal does not hold: they say that the call was made, and what became of it.

The run goes on with what is recorded, so that a replay and a resumed run see what the model saw. The call is
never made again only to get its result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._protocol import Event, ToolReturned

Reason: TypeAlias = Literal["secret", "unwritten"]

CODE: Final = "RESULT_WITHHELD"
"""The code of the error, if the call failed; it begins the warning, if the call succeeded."""

_EXPLAINED: Final[dict[Reason, str]] = {
    "secret": "The tool ran, but its result holds a secret, so it is not shown. "
    "The result of the same call would be withheld again: go on without it.",
    "unwritten": "The tool ran, but its result could not be saved and is lost. "
    "Do not repeat the call unless running it twice does no harm.",
}


def withheld(event: ToolReturned, reason: Reason) -> ToolReturned:
    """The event without its result; it still says whether the call succeeded.

    >>> print(withheld(ToolReturned(2, '{"key":"sk-…"}'), "secret").output[:61])
    {"ok":true,"data":{"withheld":"secret"},"warnings":["RESULT_W
    """
    data: Json = {"withheld": reason}
    text = _EXPLAINED[reason]
    if _succeeded(event.output):
        tree: Json = {"ok": True, "data": data, "warnings": [f"{CODE}: {text}"]}
    else:
        tree = {"ok": False, "data": data, "errors": [{"code": CODE, "message": text}]}
    return replace(event, output=canonical(tree), parts=())


def is_withheld(event: Event) -> bool:
    """Whether an event is a result that was withheld."""
    return isinstance(event, ToolReturned) and any(
        withheld(ToolReturned(event.ref, output), reason).output == event.output
        for reason in _EXPLAINED
        for output in ("{}", '{"ok":false}')
    )


def _succeeded(output: str) -> bool:
    match read(output).value_or(None):
        case {"ok": False}:
            return False
        case _:
            return True
