"""toolreel in the conformance suite, over the real provider; what is right stands in the shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from benchmarks.conformance.judge import Raised, Run, Verdict, judged
from benchmarks.conformance.peers.driving import Case, watched
from benchmarks.conformance.peers.toolreel.drive import CONFIGS, RunFailed, ask
from benchmarks.conformance.provider import Provider, serving
from benchmarks.conformance.shape import Call, Shape, load

SHAPES: Final = {shape.id: shape for shape in load()}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        with serving(SHAPES) as provider:
            yield provider


def put_through(shape: Shape, provider: Provider, setting: str) -> tuple[Verdict, str]:
    name, text, raised = f"{setting}-{shape.id}", "", None
    with watched() as ran:
        try:
            case = Case(shape.id, provider.base_url(shape.id, name), stream=shape.mode == "stream")
            text = ask(case, CONFIGS[setting])
        except RunFailed as failed:
            raised = Raised("RunFailed", str(failed))
    calls = tuple(Call(tool, arguments) for tool, arguments in ran)
    return judged(shape, Run(calls, text, raised, provider.seen(name)))


@pytest.mark.parametrize("setting", ["defaults", "marked"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_toolreel_does_what_the_shape_calls_right(shape: Shape, provider: Provider, setting: str) -> None:
    verdict, why = put_through(shape, provider, setting)
    assert verdict == "right", f"{shape.about} {why}"


def test_there_are_at_least_a_hundred_shapes_plain_and_streamed() -> None:
    streamed = sum(shape.mode == "stream" for shape in SHAPES.values())
    assert len(SHAPES) >= 100
    assert 35 <= streamed <= len(SHAPES) - 70
