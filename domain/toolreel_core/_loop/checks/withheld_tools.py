"""Tools that the next reply may not call, since the model repeats a call of them that brings nothing new.

Only the constraint is narrower: ``tools`` stays as it is, so that prompt caches keep their prefix. The tool
is withheld, not the arguments, because the grammars of servers know no ``not``; any other call brings it
back.
"""

from __future__ import annotations

from dataclasses import replace

from toolreel_core._plan import RequestOptions
from toolreel_core._protocol import Memory, State, ToolsWithheld
from toolreel_core._replies import ToolCall
from toolreel_core._tools import Envelope


def with_withheld(state: State, memory: Memory, call: ToolCall, again: int) -> Memory:
    """The memory after a call: its tool joins those that are withheld, or all of them are back.

    :param again: how many times in a row it was made again for nothing
    """
    tool = state.present.tools.by_name.get(call.name)
    if tool is None or tool.polling or again < state.present.config.withhold_repeated:
        return replace(memory, withheld=()) if memory.withheld else memory
    return replace(memory, withheld=tuple(dict.fromkeys((*memory.withheld, tool.name))))


def repetitions(result: Envelope, times: int) -> int:
    """How many times a call was made again for nothing that ran and had this result this many times in a row.

    One repetition of a failure is free: the model may be about to make the call in another way.
    """
    return times - 1 if result.ok else times - 2


def narrowed(state: State, options: RequestOptions) -> RequestOptions:
    """The options of a turn with tools, without calls of those that are withheld."""
    withheld = _withheld(state)
    return state.present.options_without(withheld) if withheld else options


def withholding(state: State, *, tools: bool) -> tuple[ToolsWithheld, ...]:
    """The note of the turn that begins."""
    withheld = _withheld(state) if tools else ()
    return (ToolsWithheld(state.tally.turns + 1, withheld),) if withheld else ()


def _withheld(state: State) -> tuple[str, ...]:
    withheld = state.memory.withheld
    return withheld if withheld and state.present.constrains_calls else ()
