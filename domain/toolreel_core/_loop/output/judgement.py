"""Judge a final answer: the value in it, or what is wrong with it.

An answer that fits the schema as it stands is taken as it stands; the coercions of tool arguments are tried
only on one that does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from toolreel_core._jsontext import JsonText, canonical, either, read
from toolreel_core._loop.admission import unread_arguments_fault
from toolreel_core._plan import OutputSpec, Plan
from toolreel_core._replies import Answers, ArgumentError, Reading, ToolCall, answers_in, coerced
from toolreel_core._schema import Violation, violations
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import Fault, arguments_violate_schema


@dataclass(frozen=True, slots=True)
class Accepted:
    """The value of a final answer, and the repairs that it needed."""

    value: JsonText
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """What is wrong with a final answer, in one sentence or two."""

    error: str


Judgement: TypeAlias = Accepted | Rejected
_Fit: TypeAlias = "Accepted | tuple[Violation, ...]"


def judged_text(plan: Plan, spec: OutputSpec, text: str) -> Judgement:
    """The judgement of an answer in text."""
    found = _answers(plan, text)
    fits = [
        _with_codes(_fit(spec, plan.config, reading, bare=found.whole), reading) for reading in found.readings
    ]
    accepted = [fit for fit in fits if isinstance(fit, Accepted)]
    values = {one.value for one in accepted}
    if len(values) == 1:
        return accepted[0]
    if values:
        return Rejected(f"Your answer holds {len(values)} different JSON values that fit.")
    broken = [fit for fit in fits if not isinstance(fit, Accepted)]
    if broken:
        return Rejected("; ".join(_in_answer(violation) for violation in broken[-1]) + ".")
    return Rejected(f"Your answer is not valid JSON: {found.why}.")


def judged_call(plan: Plan, spec: OutputSpec, call: ToolCall) -> Accepted | Fault:
    """The judgement of an answer as a call of the final tool."""
    arguments = call.arguments
    match arguments:
        case JsonText():
            fit = _fit_text(spec, plan.config, arguments)
            if isinstance(fit, Accepted):
                return fit
            return _bare(spec, plan.config, call) or arguments_violate_schema(spec.name, fit)
        case ArgumentError():
            return _bare(spec, plan.config, call) or unread_arguments_fault(spec.name, arguments, plan)
        case _:
            assert_never(arguments)


def is_asked_for(plan: Plan, text: str) -> bool:
    """Whether a text is, as a whole, the JSON object that was asked for.

    Its keys have to be declared: a schema that takes any object would also take the JSON of a call. A call of
    the final tool, which is never run, is an answer in any notation.
    """
    spec = plan.output
    if spec is None:
        return False
    found = _answers(plan, text)
    tree = found.readings[0].tree if found.whole else None
    if not isinstance(tree, Mapping) or not tree:
        return False
    meant = tree.keys() <= spec.keys or (plan.asked_by == "tool" and tree.get("name") == spec.name)
    return meant and isinstance(_fit(spec, plan.config, found.readings[0], bare=False), Accepted)


def _answers(plan: Plan, text: str) -> Answers:
    config = plan.config
    return answers_in(text, max_depth=config.max_argument_depth, repairs=config.argument_repairs)


def _fit(spec: OutputSpec, config: LoopConfig, reading: Reading, *, bare: bool) -> _Fit:
    text = canonical(reading.tree)
    fit = _fit_text(spec, config, text)
    may_be_bare = spec.wrapped and config.argument_repairs != "strict"
    if may_be_bare and not isinstance(fit, Accepted) and (bare or isinstance(reading.tree, Mapping | list)):
        return _unwrapped(spec, text) or fit
    return fit


def _fit_text(spec: OutputSpec, config: LoopConfig, text: JsonText) -> _Fit:
    found = violations(spec.sent, text)
    if not found:
        return Accepted(spec.value_of(text))
    if not text.startswith("{"):
        return found
    intended = coerced(
        spec.sent,
        text,
        names=(spec.name,),
        repair=config.argument_repairs != "strict",
        drop_nulls=config.null_for_optional_is_absent,
        max_depth=config.max_argument_depth,
    )
    if intended.doubt:
        return found
    if broken := violations(spec.sent, intended.arguments):
        return broken
    return Accepted(spec.value_of(intended.arguments), intended.codes)


def _unwrapped(spec: OutputSpec, text: JsonText) -> Accepted | None:
    """The value itself, without the object around it that was asked for."""
    return None if violations(spec.schema, text) else Accepted(text, ("OUTPUT_BARE",))


def _bare(spec: OutputSpec, config: LoopConfig, call: ToolCall) -> Accepted | None:
    """The arguments of a call that are the value itself."""
    if not spec.wrapped or config.argument_repairs == "strict" or _is_cut(call):
        return None
    text = either(read(call.original, max_depth=config.max_argument_depth, unique_keys=True).map(canonical))
    return _unwrapped(spec, text) if isinstance(text, JsonText) else None


def _is_cut(call: ToolCall) -> bool:
    return isinstance(call.arguments, ArgumentError) and call.arguments.code == "ARGUMENTS_TRUNCATED"


def _with_codes(fit: _Fit, reading: Reading) -> _Fit:
    return Accepted(fit.value, (*reading.codes, *fit.codes)) if isinstance(fit, Accepted) else fit


def _in_answer(violation: Violation) -> str:
    """A violation in words; the empty pointer is the answer, which has no arguments."""
    return f"{violation.pointer or 'your answer'}: expected {violation.expected}, got {violation.got}"
