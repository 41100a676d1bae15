from __future__ import annotations

from collections.abc import Callable

import pytest

from toolreel import Ports, PythonTools, Run, ToolError, run
from toolreel.testing import Line, ScriptedEndpoint, assert_reel, call, calling, saying
from toolreel.tools import Tool
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Plan
from toolreel_core._settings import LoopConfig


def read(path: str, lines: list[int] | None = None) -> str:
    """Read a file."""
    if path == "gone":
        raise ToolError("there is no such file")
    return f"{path} {lines}"


def write(path: str) -> str:
    """Write a file."""
    return path


TOOLS = PythonTools([Tool.of(read, name="files.read"), write])


def ran(*script: Line, config: LoopConfig | None = None) -> Run:
    plan = Plan.of(model="m", messages="Go on.", tools=TOOLS.surface, config=config)
    return run(plan, Ports(ScriptedEndpoint(script), TOOLS))


RUN = ran(
    calling(("files_read", {"path": "a", "lines": [1, 2]}), ("files_read", {"path": "gone"})),
    calling(("write", {"path": "a"})),
    calling(("files_read", {"path": "a"})),
    saying("Done"),
)

LISTING = """what happened:
  1. files.read(path="a", lines=[1,2])  ok
  2. files.read(path="gone")  ARGUMENT_ERROR
  3. write(path="a")  ok
  4. files.read(path="a")  ok
  completed: "Done"
"""


def denied(claim: object) -> str:
    """What is said of a claim that does not hold."""
    assert callable(claim)
    with pytest.raises(AssertionError) as caught:
        claim()
    return str(caught.value) + "\n"


def test_all_calls_in_their_order() -> None:
    assert_reel(RUN).calls("files.read", "files.read", "write", call("files.read", path="a").exactly())
    assert denied(lambda: assert_reel(RUN).calls("files.read")).startswith("expected call 2 to be none\n")
    said = denied(lambda: assert_reel(RUN).calls("files.read", "write", "files.read", "files.read"))
    assert said == "expected call 2 to be write(…)\n  expected write, got files.read\n" + LISTING
    over = denied(lambda: assert_reel(RUN).calls(*["files.read"] * 2, "write", "files.read", "write"))
    assert over.startswith("expected call 5 to be write(…)\n")


def test_calls_in_order_may_have_others_between_them() -> None:
    assert_reel(RUN).calls_in_order("files.read", call("files.read", path="a").exactly())
    said = denied(lambda: assert_reel(RUN).calls_in_order("write", "write"))
    assert said.startswith("expected in this order, and not found: write(…)\nwhat happened:")


def test_calls_in_any_order_are_a_multiset() -> None:
    reads = [call("files.read"), call("files.read", path="gone"), call("files.read", lines=[1, 2])]
    assert_reel(RUN).calls_in_any_order("write", *reads)
    said = denied(lambda: assert_reel(RUN).calls_in_any_order("write", "write", *reads[:2]))
    assert "  missing: write(…)\n  not expected: files.read(path=" in said


def test_then_goes_on_behind_the_call_that_was_found() -> None:
    assert_reel(RUN).called("files.read", path="gone").then("write").then("files.read", path="a")
    said = denied(lambda: assert_reel(RUN).called("write").then("write"))
    assert said == "expected a call of write(…) after call 3\n" + LISTING


def test_what_never_happened() -> None:
    assert_reel(RUN).never_called("write", path="b").never_called("files.write")
    said = denied(lambda: assert_reel(RUN).never_called("write"))
    assert said.startswith("expected no call of write(…), and call 3 is one\nwhat happened:")


def test_arguments_are_named_ones_or_all() -> None:
    assert_reel(RUN).called("files.read", lines=[1, 2])
    assert "nearest, call 1: lines[1]: expected 3, got 2" in denied(
        lambda: assert_reel(RUN).called("files.read", lines=[1, 3])
    )
    assert "nearest, call 3: mode: expected 1, got (absent)" in denied(
        lambda: assert_reel(RUN).called("write", mode=1)
    )
    assert 'call 2 to be files.read()\n  path: expected (absent), got "gone"' in denied(
        lambda: assert_reel(RUN).calls("files.read", call("files.read").exactly())
    )


def test_how_a_run_ended() -> None:
    assert_reel(RUN).completed().completed("Done").ended("completed", content="Done")
    assert denied(lambda: assert_reel(RUN).completed("done")).startswith(
        "expected the run to end as completed(content='done')\n"
    )
    stopped = ran(calling(("write", {"path": "a"})), config=LoopConfig(max_turns=1))
    assert_reel(stopped).ended("max_turns", limit=1)
    assert "\n  ended: MaxTurns(limit=1)\n" in denied(lambda: assert_reel(stopped).completed())


def test_a_run_at_rest_has_not_ended() -> None:
    tools = PythonTools([Tool.of(write, needs_approval=True)])
    plan = Plan.of(model="m", messages="Go on.", tools=tools.surface)
    rests = run(plan, Ports(ScriptedEndpoint([calling(("write", {"path": "a"}))]), tools))
    assert_reel(rests).noted("approval_asked", name="write")
    assert "\n  no calls\n  rests: AwaitingApproval\n" in denied(lambda: assert_reel(rests).completed())


def test_notes_by_name() -> None:
    assert_reel(RUN).noted("call_ended", ok=False, codes=("ARGUMENT_ERROR",)).never_noted("model_nudged")
    said = denied(lambda: assert_reel(RUN).noted("call_ended", name="write", ok=False))
    assert said.startswith(
        "expected a note call_ended(name='write', ok=False); of that name there are:\n  CallEnded("
    )
    assert "there are:\n  none\n" in denied(lambda: assert_reel(RUN).noted("model_nudged"))
    assert "  there is: CallEnded(" in denied(lambda: assert_reel(RUN).never_noted("call_ended"))


def test_a_misspelt_name_is_the_tests_own_mistake() -> None:
    claims: list[tuple[Callable[[], object], str]] = [
        (lambda: assert_reel(RUN).ended("complete"), "there is no outcome 'complete'; did you mean"),
        (lambda: assert_reel(RUN).noted("call_end"), "there is no note 'call_end'; did you mean"),
        (lambda: assert_reel(RUN).noted("call_ended", code="x"), "there is no field of call_ended 'code'"),
    ]
    for claim, said in claims:
        with pytest.raises(ConfigError, match=said):
            claim()
