"""Records that never ran, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

from toolreel_core._jsontext import canonical
from toolreel_core.evals import Attempt, Cell, Record, Result, SentRequest, Verdict

CELL = Cell("vendor/model", "default", "raw", "happy_path")
_CATEGORIES: dict[Result, str] = {
    "pass": "",
    "pass_unexercised": "task.exercise:state_get_first",
    "fail": "task.outcome:draft",
    "unsupported": "wire.no_tool_use_endpoint",
    "void": "transport.rate_limit",
}


def cell(**changes: str) -> Cell:
    """The usual cell with another value on some axes."""
    values = {axis: getattr(CELL, axis) for axis in CELL.__dataclass_fields__}
    return Cell(**{**values, **changes})


def record(  # noqa: PLR0913 - a record has that many parts, each by its name
    result: Result = "pass",
    at: Cell = CELL,
    trial: int = 1,
    *,
    ms: Sequence[int] = (100,),
    category: str | None = None,
    reasons: tuple[str, ...] | None = None,
    asked: Sequence[SentRequest] | None = None,
    status: int | None = None,
    dialects: Sequence[str] = (),
    digest: str = "d",
    hint: str = "",
    cassette: str = "",
) -> Record:
    """A record; each number of ``ms`` is an attempt."""
    contents = () if result == "pass" else ("because",)
    name = _CATEGORIES[result] if category is None else category
    verdict = Verdict(result, name, contents if reasons is None else reasons)
    requests = tuple(asked if asked is not None else [SentRequest(1, 10, 200, finish="stop", model="served")])
    return Record(
        key=f"{'/'.join(at.axes)}#{trial}",
        cell=at,
        trial=trial,
        version=1,
        configuration=canonical({"config": {"text_dialects": list(dialects)}}),
        digest=digest,
        tools_sent=True,
        verdict=verdict,
        loop="completed",
        final="Done.",
        world=canonical({}),
        turns=3,
        calls=2,
        attempts=tuple(Attempt(each, verdict, requests) for each in ms),
        error_status=status,
        error_hint=hint,
        cassette=cassette,
    )


_RESULTS: dict[str, Result] = {
    "p": "pass",
    "x": "pass_unexercised",
    "f": "fail",
    "r": "unsupported",
    "v": "void",
}


def runs(strategy: str, results: str, scenario: str = "happy_path", **axes: str) -> list[Record]:
    """Trials of one cell: a letter each for pass, unexercised, fail, refused and void; a blank is missing."""
    at = cell(strategy=strategy, scenario=scenario, **axes)
    return [record(_RESULTS[each], at, trial) for trial, each in enumerate(results, 1) if each != " "]
