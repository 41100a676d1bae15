"""Worlds: the leaderboard's backends with what a case begins with, and what was done to them.

Each case has two, of the same beginning: one that our loop acts on, and its twin that is driven directly.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from benchmarks.bfcl.cases import Case
from toolreel import ToolError
from toolreel.tools import call_arguments, exception_event, success_event
from toolreel_core import Json, RunTool, ToolReturned

__all__ = ["Deed", "World", "parameters", "public"]

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One call that was executed."""

    name: str
    arguments: str
    """As JSON, by name, sorted."""
    result: Json
    """What came of it, as JSON, or the words of what was raised."""
    failed: bool = False
    """Whether it was raised."""

    def __str__(self) -> str:
        return f"{self.name}{self.arguments}"


class World:
    """The backends of a case; a tool host over their methods."""

    def __init__(self, case: Case) -> None:
        self.deeds: list[Deed] = []
        """What was executed, in order."""
        self._backends = {name: _backend(name, case) for name in case.backends}
        self._methods = {
            name: getattr(backend, name)
            for kind, backend in self._backends.items()
            for name in _method_names(kind)
        }

    def do(self, name: str, positional: Sequence[Json], named: Mapping[str, Json]) -> Deed:
        """Call a method, and write down what came of it."""
        method, given = self._methods[name], deepcopy((positional, named))
        try:
            arguments: object = inspect.signature(method).bind(*positional, **named).arguments
        except TypeError:
            arguments = given
        written = json.dumps(arguments, sort_keys=True)
        try:
            deed = Deed(name, written, _json(method(*given[0], **given[1])))
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is a result as well
            deed = Deed(name, written, str(error), failed=True)
        self.deeds.append(deed)
        return deed

    def run(self, effect: RunTool) -> ToolReturned:
        """The same, asked for by a run of toolreel."""
        deed = self.do(effect.name, (), call_arguments(effect))
        return (
            exception_event(effect, ToolError(str(deed.result)))
            if deed.failed
            else success_event(effect, deed.result)
        )

    @property
    def state(self) -> Json:
        """Everything public in the backends."""
        return {name: public(backend) for name, backend in self._backends.items()}


def parameters(backends: Sequence[str], method: str) -> tuple[str, ...]:
    """The parameters of a method of one of the backends, in order."""
    [kind] = [_class(name) for name in backends if method in _method_names(name)]
    return tuple(inspect.signature(getattr(kind, method)).parameters)[1:]


def public(value: object, within: tuple[int, ...] = ()) -> Json:
    """A value, and whatever public it holds, as data that can be compared.

    What holds itself, as a directory does whose entries know it, is told once.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if id(value) in within:
        return "(above)"
    within = (*within, id(value))
    if isinstance(value, Mapping):
        return {f"{type(key).__name__} {key}": public(part, within) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [public(part, within) for part in value]
    if hasattr(value, "__dict__"):
        parts = {key: public(part, within) for key, part in vars(value).items() if not key.startswith("_")}
        return {"class": type(value).__name__, **parts}
    return repr(value)


def _backend(name: str, case: Case) -> Any:  # noqa: ANN401 - the leaderboard's classes have no types
    backend = _class(name)()
    if hasattr(backend, "_load_scenario"):
        long = case.category == "long_context"
        backend._load_scenario(deepcopy(case.setting.get(name, {})), long_context=long)
    return backend


@cache
def _class(name: str) -> Any:  # noqa: ANN401 - the same
    return getattr(import_module(f"{_PACKAGE}.{_MODULES[name]}"), name)


@cache
def _method_names(name: str) -> tuple[str, ...]:
    methods = inspect.getmembers(_class(name), inspect.isfunction)
    return tuple(method for method, _ in methods if not method.startswith("_"))


def _json(value: object) -> Json:
    """A result as JSON, or else as text: some of mpmath's numbers are none that JSON has."""
    try:
        carried: Json = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return str(value)
    return carried
