"""Python types as outputs: the schema that an answer has to fit, and the Python value of one that does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar, cast, overload

from toolreel._driver import Resting, Run
from toolreel._internal import OutputError
from toolreel.tools._python.schema_of import Types
from toolreel.tools._python.values import InvalidValue
from toolreel_core._jsontext import Json, JsonText, Tree, parse
from toolreel_core._plan import OutputSpec
from toolreel_core._protocol import Completed, Outcome
from toolreel_core._tools import schema_tree

_Value = TypeVar("_Value")
_Value_co = TypeVar("_Value_co", covariant=True)

_NAME: Final = "final_answer"


class Adapter(Protocol[_Value_co]):
    """A schema with a reader of values, such as pydantic's ``TypeAdapter``."""

    def json_schema(self) -> dict[str, Any]:
        """The schema."""
        ...

    def validate_json(self, data: str, /) -> _Value_co:
        """The value of a JSON text; raises ``ValueError``."""
        ...


@dataclass(frozen=True, slots=True)
class Output(Generic[_Value]):
    """A type as the output of runs; made by :func:`output_of`."""

    spec: OutputSpec
    """What to give a plan as ``output``."""
    _read: Callable[[JsonText], object] = field(repr=False, compare=False)

    def value(self, of: Run | Outcome | Resting) -> _Value:
        """The value of a run whose plan has this output.

        :param of: the run, or its outcome
        :raises OutputError: if it did not complete with a value, or checks of the type that JSON Schema
            cannot say reject it
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
        except (InvalidValue, ValueError) as error:
            raise OutputError(f"{self.spec.name}: {error}") from error


@overload
def output_of(kind: Mapping[str, Json], *, name: str = _NAME, description: str = "") -> Output[Json]: ...
@overload
def output_of(kind: type[_Value], *, name: str = _NAME, description: str = "") -> Output[_Value]: ...
@overload
def output_of(kind: Adapter[_Value], *, name: str = _NAME, description: str = "") -> Output[_Value]: ...
@overload
def output_of(kind: object, *, name: str = _NAME, description: str = "") -> Output[Any]: ...
def output_of(kind: Any, *, name: str = _NAME, description: str = "") -> Output[Any]:
    """A type as the output of runs.

    >>> numbers = output_of(list[int])
    >>> numbers.value(Completed("[1]", JsonText("[1]")))
    [1]

    :param kind: a pydantic model or ``TypeAdapter``, msgspec struct, dataclass, ``TypedDict``, enum, a type
        of these such as ``list[Model]``, or a JSON Schema as a mapping
    :param name: of the final tool, or of the schema in ``response_format``
    :param description: what the answer is, for the model
    :raises ConfigError: if JSON cannot represent it
    """
    if isinstance(kind, Mapping):
        return Output(OutputSpec.of(kind, name=name, description=description), parse)
    if not isinstance(kind, type) and callable(getattr(kind, "validate_json", None)):
        return Output(
            OutputSpec.of(schema_tree(kind), name=name, description=description), kind.validate_json
        )
    types = Types()
    found = types.of(kind, f"output {name!r}")
    tree: Tree = {**found.schema, **({"$defs": types.shared} if types.shared else {})}
    spec = OutputSpec.of(tree, name=name, description=description)
    return Output(spec, lambda text: found.read(parse(text)))
