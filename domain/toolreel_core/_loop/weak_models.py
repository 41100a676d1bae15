"""Help for weak models: what they are told again, and tools that they repeat for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Json, JsonText, canonical, chain, digest, link, parse
from toolreel_core._plan import RequestOptions, request_for
from toolreel_core._protocol import DoneCall, Memory, State, ToolsWithheld
from toolreel_core._replies import ToolCall
from toolreel_core._tools import Envelope

# What a weak model is told again: the task, the calls that have succeeded, and what to do next.
#
# It is put into a message of the user, never in a result, so that no tool can pretend to say it; and it has
# nothing in it but what the user asked for and what the model has called.


_LONGEST_TASK: Final = 1_000
_LONGEST_CALL: Final = 200
_MOST_CALLS: Final = 12
"""How many calls the model is reminded of: the latest."""


def reminder_of(state: State) -> str:
    """What the next request reminds the model of, behind results; empty if they are not the latest."""
    if not state.messages.complete().projection.after_result:
        return ""
    return f"{restatement(state)}\n{next_step(state)}"


def restatement(state: State) -> str:
    """The task, and the calls that have succeeded."""
    task = task_of(state)
    known = [f"The task is: {task}"] if task else []
    done = [f"- {call.shown}" for call in state.memory.done[-_MOST_CALLS:]]
    heading = "These calls have succeeded, so do not make them again:"
    calls = [heading, *done] if done else ["No call has succeeded so far."]
    return "\n".join([*known, *calls])


def next_step(state: State) -> str:
    """What the model is to do now."""
    # Measured on a model of 1.5B: without the question, it repeats a call that reads, or stops after one.
    missing = "Is a part of the task still to be done? If so, make the call for that part now."
    return f"{missing} If no part is left, {_answer_instruction(state)}"


def _answer_instruction(state: State) -> str:
    plan = state.present
    if plan.output is not None:
        request = request_for(plan.output, plan.asked_by or "text")
        return f"{request[0].lower()}{request[1:]}"
    if plan.answer_tool is not None:
        return f"call {plan.answer_tool.name} with your answer to the user."
    return "answer the user."


def task_of(state: State) -> str:
    """What the user asks for in the present exchange, shortened."""
    if state.memory.task:
        return state.memory.task
    asked = [message for message in state.present.messages if isinstance(message, UserMessage)]
    return shortened(asked[-1].content, _LONGEST_TASK) if asked else ""


def with_task(state: State, said: tuple[UserMessage, ...]) -> Memory:
    """The memory after the user has spoken: at the head of an exchange the task, later a part of it."""
    if not state.present.config.remembers_calls:
        return state.memory
    began = state.tally.turns == state.exchange_began.turns
    earlier = () if began and state.tally.turns else (task_of(state),)
    words = "\n".join([text for text in (*earlier, *(message.content for message in said)) if text])
    return replace(state.memory, task=shortened(words, _LONGEST_TASK))


def with_done(state: State, memory: Memory, call: ToolCall) -> Memory:
    """The memory with a call that has succeeded."""
    if not isinstance(call.arguments, JsonText):
        return memory
    name = state.present.tools.inner(call.name)
    key = call_digest(name, call.arguments)
    if any(done.key == key for done in memory.done):
        return memory
    outward = state.present.tools.by_name[call.name].outward
    shown = shortened(f"{outward} {call.arguments}", _LONGEST_CALL)
    return replace(memory, done=(*memory.done, DoneCall(key, name, shown)))


def is_done(state: State, call: ToolCall, arguments: JsonText) -> bool:
    """Whether a call repeats an effect of the present exchange."""
    tool = state.present.tools.by_name[call.name]
    if tool.read_only or tool.polling:
        return False
    key = call_digest(tool.name, arguments)
    return any(done.key == key for done in state.memory.done)


def call_digest(name: str, arguments: JsonText) -> str:
    """The digest of a call, whatever the order of the keys in its arguments."""
    return link(chain("", name), digest(canonical(_with_sorted_keys(parse(arguments)))))


def _with_sorted_keys(value: Json) -> Json:
    match value:
        case Mapping():
            return {key: _with_sorted_keys(value[key]) for key in sorted(value)}
        case list():
            return [_with_sorted_keys(item) for item in value]
        case _:
            return value


def shortened(text: str, most: int) -> str:
    """A text of at most this many characters: its head and its end, if it is longer.

    >>> shortened("abcdefghij", 7)
    'abc … j'
    """
    text = text.strip()
    if len(text) <= most:
        return text
    end = (most - 3) // 4
    return f"{text[: most - 3 - end]} … {text[-end:]}"


# Tools that the next reply may not call, since the model repeats a call of them that brings nothing new.
#
# Only the constraint is narrower: ``tools`` stays as it is, so that prompt caches keep their prefix. The tool
# is withheld, not the arguments, because the grammars of servers know no ``not``; any other call brings it
# back.


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
    withheld = _withheld_tools(state)
    return state.present.options_without(withheld) if withheld else options


def withholding(state: State, *, tools: bool) -> tuple[ToolsWithheld, ...]:
    """The note of the turn that begins."""
    withheld = _withheld_tools(state) if tools else ()
    return (ToolsWithheld(state.tally.turns + 1, withheld),) if withheld else ()


def _withheld_tools(state: State) -> tuple[str, ...]:
    withheld = state.memory.withheld
    return withheld if withheld and state.present.constrains_calls else ()
