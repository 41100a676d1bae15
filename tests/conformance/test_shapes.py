"""toolreel in the conformance suite, over the real provider; what is right is in the shapes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.conformance.form_server import speaking
from benchmarks.conformance.forms import FORMS, Form, has_meaning
from benchmarks.conformance.judge import Raised, Run, Verdict, judged
from benchmarks.conformance.peers.driving import Case, watched
from benchmarks.conformance.peers.toolreel.drive import CONFIGS, RunFailed, ask
from benchmarks.conformance.provider import Provider, serving
from benchmarks.conformance.shape import Call, Shape, load
from toolreel_core._settings import WireForm

SHAPES = {shape.id: shape for shape in load()}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        with serving(SHAPES) as provider:
            yield provider


def put_through(
    shape: Shape, provider: Provider, setting: str, form: WireForm = "chat_completions", url: str = ""
) -> tuple[Verdict, str]:
    name, text, raised = f"{form}-{setting}-{shape.id}", "", None
    base_url = provider.base_url(shape.id, name).replace(provider.url, url or provider.url)
    with watched() as ran:
        try:
            text = ask(Case(shape.id, base_url, stream=shape.mode == "stream"), CONFIGS[setting], form)
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


@pytest.fixture(scope="module", params=FORMS)
def form(request: pytest.FixtureRequest, provider: Provider) -> Iterator[tuple[Form, str]]:
    with speaking(provider, request.param) as url:
        yield request.param, url


def every_shape_is_right(form: tuple[Form, str], provider: Provider, shapes: list[Shape]) -> None:
    spoken, url = form
    for shape in shapes:
        verdict, why = put_through(shape, provider, "defaults", spoken, url)
        assert verdict == "right", f"{shape.id} in {spoken}: {shape.about} {why}"


def test_some_shapes_are_right_in_the_other_forms(form: tuple[Form, str], provider: Provider) -> None:
    every_shape_is_right(form, provider, sayable(form[0])[::8])


@pytest.mark.slow
def test_every_shape_that_a_form_can_say_is_right(form: tuple[Form, str], provider: Provider) -> None:
    shapes = sayable(form[0])
    assert len(shapes) >= 70
    assert sum(shape.mode == "stream" for shape in shapes) >= 10
    every_shape_is_right(form, provider, shapes)


def sayable(form: Form) -> list[Shape]:
    return [shape for shape in SHAPES.values() if has_meaning(shape, form)]
