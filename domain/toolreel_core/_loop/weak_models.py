"""Help for weak models: what they are told again, and tools that they repeat for nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import JsonText, chain, parse, sorted_text
from toolreel_core._plan import request_for
from toolreel_core._protocol import DoneCall, Memory, State
from toolreel_core._replies import ToolCall

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
    plan = state.present
    if not plan.config.restate_task or not state.messages.complete().projection.after_result:
        return ""
    if plan.output is not None:
        request = request_for(plan.output, plan.asked_by or "text")
        answer = f"{request[0].lower()}{request[1:]}"
    elif plan.answer_tool is not None:
        answer = f"call {plan.answer_tool.name} with your answer to the user."
    else:
        answer = "answer the user."
    # Measured on a model of 1.5B: without the question, it repeats a call that reads, or stops after one.
    missing = "Is a part of the task still to be done? If so, make the call for that part now."
    return f"{restatement(state)}\n{missing} If no part is left, {answer}"


def restatement(state: State) -> str:
    """The task, and the calls that have succeeded."""
    task = _task_of(state)
    known = [f"The task is: {task}"] if task else []
    done = [f"- {call.shown}" for call in state.memory.done[-_MOST_CALLS:]]
    heading = "These calls have succeeded, so do not make them again:"
    calls = [heading, *done] if done else ["No call has succeeded so far."]
    return "\n".join([*known, *calls])


def _task_of(state: State) -> str:
    """What the user asks for in the present exchange, shortened."""
    if state.memory.task:
        return state.memory.task
    asked = [message for message in state.present.messages if isinstance(message, UserMessage)]
    return _shortened(asked[-1].content, _LONGEST_TASK) if asked else ""


def with_task(state: State, said: tuple[UserMessage, ...]) -> Memory:
    """The memory after the user has spoken: at the head of an exchange the task, later a part of it."""
    if not state.present.config.remembers_calls:
        return state.memory
    begins_exchange = state.tally.turns == state.exchange_began.turns > 0
    earlier = () if begins_exchange else (_task_of(state),)
    words = "\n".join([text for text in (*earlier, *(message.content for message in said)) if text])
    return replace(state.memory, task=_shortened(words, _LONGEST_TASK))


def with_done(state: State, memory: Memory, call: ToolCall) -> Memory:
    """The memory with a call that has succeeded."""
    tool = state.present.tools.by_name[call.name]
    key = _call_digest(tool.name, cast("JsonText", call.arguments))  # it succeeded, so they could be read
    if any(done.key == key for done in memory.done):
        return memory
    shown = _shortened(f"{tool.outward} {call.arguments}", _LONGEST_CALL)
    return replace(memory, done=(*memory.done, DoneCall(key, tool.name, shown)))


def is_done(state: State, call: ToolCall, arguments: JsonText) -> bool:
    """Whether a call repeats an effect of the present exchange, which ``repeated_effects`` may refuse."""
    tool = state.present.tools.by_name[call.name]
    if tool.read_only or tool.polling:
        return False
    key = _call_digest(tool.name, arguments)
    return any(done.key == key for done in state.memory.done)


def _call_digest(name: str, arguments: JsonText) -> str:
    """The digest of a call, whatever the order of the keys in its arguments."""
    return chain("", name, sorted_text(parse(arguments)))


def _shortened(text: str, most: int) -> str:
    """A text of at most this many characters: its head and its end, if it is longer."""
    text = text.strip()
    if len(text) <= most:
        return text
    end = (most - 3) // 4
    return f"{text[: most - 3 - end]} … {text[-end:]}"


def with_withheld(state: State, memory: Memory, call: ToolCall, again: int) -> Memory:
    """The memory after a call: its tool joins those that the next reply may not call, or all are back.

    Only the constraint is narrower: ``tools`` stays as it is, so that prompt caches keep their prefix. The
    tool is withheld, not the arguments, because the grammars of servers know no ``not``.

    :param again: how many times in a row it was made again for nothing
    """
    tool, most = state.present.tools.by_name.get(call.name), state.present.config.withhold_repeated
    if tool is None or tool.polling or again < most:
        return replace(memory, withheld=()) if memory.withheld else memory
    return replace(memory, withheld=tuple(dict.fromkeys((*memory.withheld, tool.name))))


def withheld_tools(state: State) -> tuple[str, ...]:
    """Inner names of the tools that the next reply may not call."""
    withheld = state.memory.withheld
    return withheld if withheld and state.present.constrains_calls else ()
