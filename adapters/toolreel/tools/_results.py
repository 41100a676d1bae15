"""Results of tool calls as the events that report them, and what ``ok`` in a returned object means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, overload

from toolreel._driver import Resting, Run
from toolreel._internal import OutputError
from toolreel.tools._call_context import ToolError
from toolreel.tools._isolation import Crash
from toolreel.tools._json_types import InvalidValue, Types
from toolreel.tools._values import value_as_json
from toolreel_core._conversation import Media
from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core._plan import OutputSpec
from toolreel_core._protocol import Completed, Outcome, RunTool, ToolReturned
from toolreel_core._tools import ENVELOPE_KEYS

OkKey: TypeAlias = Literal["envelope", "failure", "data"]
"""``envelope``: it counts in an object that has no keys but those of an envelope; ``failure``: also next to
any other keys, when it is false, and ``error`` says why; ``data``: it never counts."""


def apply_ok_key(value: Json, ok_key: OkKey) -> Json:
    # To the core, an object with no other keys is an envelope: nothing to do.
    if ok_key == "envelope" or not isinstance(value, Mapping) or not isinstance(value.get("ok"), bool):
        return value
    if ok_key == "data":
        return {"ok": True, "data": value}
    return value if value["ok"] or value.keys() <= ENVELOPE_KEYS else _failure_envelope(value)


def _failure_envelope(value: Mapping[str, Json]) -> Json:
    data = value.get("data", {})
    if further := {key: item for key, item in value.items() if key not in ENVELOPE_KEYS | {"error"}}:
        data = {**further, **({"data": data} if "data" in value else {})}
    given = [error for key in ("error", "errors") if (error := value.get(key)) is not None]
    errors = [each for error in given for each in (error if isinstance(error, list | tuple) else [error])]
    return {"ok": False, "data": data, "warnings": value.get("warnings"), "errors": errors}


_REMEDY = "Do not repeat the call as it was: try other arguments, or another way."


def call_arguments(effect: RunTool) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", parse(effect.arguments))


def success_event(effect: RunTool, value: object, ok_key: OkKey = "envelope") -> ToolReturned:
    parts: list[Media] = []
    try:
        output = canonical(apply_ok_key(value_as_json(value, parts), ok_key))
        return ToolReturned(effect.ref, output, parts=tuple(parts))
    except (TypeError, ValueError, RecursionError) as error:
        return failed_event(
            effect, "TOOL_OUTPUT_NOT_JSON", f"{effect.name} ran, but its output is not JSON: {error}."
        )


def exception_event(effect: RunTool, error: Exception) -> ToolReturned:
    """The message of a :class:`ToolError`, only the class of any other, which may contain secrets."""
    if errors := tool_errors_in_exception(error):
        words = " ".join(dict.fromkeys(str(each) for each in errors))
        return failed_event(effect, errors[0].code, words, errors[0].data)
    why = f"failed with an unexpected {type(error).__name__}"
    if isinstance(error, Crash):
        why = f"did not return: {error.reason}"
    return failed_event(effect, "INTERNAL_ERROR", f"{effect.name} {why}. {_REMEDY}")


def tool_errors_in_exception(error: BaseException) -> list[ToolError]:
    if isinstance(error, BaseExceptionGroup):
        return [found for each in error.exceptions for found in tool_errors_in_exception(each)]
    return [error] if isinstance(error, ToolError) else []


def unexpected_part_of_error(error: Exception) -> Exception | None:
    if isinstance(error, ExceptionGroup):
        return error.split(ToolError)[1]
    return None if isinstance(error, ToolError) else error


def timeout_event(effect: RunTool, how: str, *, safe_to_repeat: bool) -> ToolReturned:
    repeat = "Calling it again with the same arguments does no harm."
    advice = repeat if safe_to_repeat else "Check before you call it again."
    return failed_event(effect, "TOOL_TIMEOUT", f"{effect.name} {how}. {advice}")


def failed_event(effect: RunTool, code: str, message: str, data: Json = None) -> ToolReturned:
    errors: list[Json] = [{"code": code, "message": message}]
    tree = {"ok": False, "data": {} if data is None else value_as_json(data), "errors": errors}
    return ToolReturned(effect.ref, canonical(tree))


def returned_event(
    effect: RunTool, data: Json, *warnings: str, parts: tuple[Media, ...] = ()
) -> ToolReturned:
    output = canonical({"ok": True, "data": data, "warnings": list(warnings)})
    return ToolReturned(effect.ref, output, parts=parts)


# Python types as outputs: the schema that an answer has to fit, and the Python value of one that does.


_Value = TypeVar("_Value")

_NAME = "final_answer"


@dataclass(frozen=True, slots=True)
class Output(Generic[_Value]):
    """A type as the output of runs; made by :func:`output_of`."""

    spec: OutputSpec
    """What to give a plan as ``output``."""
    _read: Callable[[JsonText], object] = field(repr=False, compare=False)

    def value(self, of: Run | Outcome | Resting) -> _Value:
        """The value of a run, or of its outcome.

        :param of: the run, or its outcome
        :raises OutputError: if it has none, or checks of the type that JSON Schema cannot say reject it
        """
        outcome = of.outcome if isinstance(of, Run) else of
        if not isinstance(outcome, Completed):
            raise OutputError(f"the run has no value: it ended as {outcome.name}")
        if outcome.value is None:
            raise OutputError(
                "the run has no value: its plan has no output; write Plan.of(output=output.spec)"
            )
        try:
            return cast("_Value", self._read(outcome.value))
        except InvalidValue as error:
            raise OutputError(f"{self.spec.name}: {error}") from error


@overload
def output_of(kind: Mapping[str, Json], *, name: str = _NAME, description: str = "") -> Output[Json]: ...
@overload
def output_of(kind: type[_Value], *, name: str = _NAME, description: str = "") -> Output[_Value]: ...
@overload
def output_of(kind: object, *, name: str = _NAME, description: str = "") -> Output[Any]: ...
def output_of(kind: Any, *, name: str = _NAME, description: str = "") -> Output[Any]:
    """A type as the output of runs.

    >>> numbers = output_of(list[int])
    >>> numbers.value(Completed("[1]", JsonText("[1]")))
    [1]

    :param kind: a pydantic model, msgspec struct, dataclass, ``TypedDict``, enum, a type of these such as
        ``list[Model]``, or a JSON Schema as a mapping
    :param name: of the final tool, or of the schema in ``response_format``
    :param description: what the answer is, for the model
    :raises ConfigError: if JSON cannot represent it
    """
    if isinstance(kind, Mapping):
        return Output(OutputSpec.of(kind, name=name, description=description), parse)
    types = Types()
    found, _ = types.part(f"output {name!r}", kind, None)
    spec = OutputSpec.of({**found.schema, **types.definitions}, name=name, description=description)
    return Output(spec, lambda text: found.read(parse(text)))
