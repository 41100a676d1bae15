"""The built-in scenarios on a workspace: the reference's eight, and those whose world fails.

Each is one small task with another difficulty. Where the world itself fails, recovery is measured without
the model having to misbehave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from toolreel_core._conversation.message import SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._plan.presets.preset import Preset
from toolreel_core.evals._scenarios.checks import (
    argument_omitted,
    called_before,
    error_occurred,
    exercise,
    first_calls_are,
    outcome,
    parallel_calls_made,
    says_done,
    world_has,
)
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case, Scenario, fixed
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._worlds.facts_and_draft import WORKSPACE_TOOLS, Mishaps, Workspace

_NO_MISHAPS: Final = Mishaps()

DONE: Final = outcome("final", says_done)
DRAFT: Final = outcome("draft", world_has("/draft/foo", "bar"))


def opening(*system: str, draft: Tree | None = None, mishaps: Mishaps = _NO_MISHAPS) -> Callable[[str], Case]:
    """How a scenario on a workspace begins: the system text in lines, and a user who names the workspace."""
    return partial(_begun, "\n".join(system), draft, mishaps)


def _begun(system: str, draft: Tree | None, mishaps: Mishaps, seed: str) -> Case:
    world = Workspace.of(seed, draft=draft, mishaps=mishaps)
    messages = (SystemMessage(system), UserMessage(f"workspace_id={world.id}"))
    return Case(messages, WORKSPACE_TOOLS, world)


def patch(value: Json = "bar", /, path: str = "/draft/foo", **more: Json) -> Tree:
    """The arguments of a ``state_patch`` that sets one value."""
    return {**more, "request_id": "r1", "ops": [{"op": "set", "path": path, "value": value}]}


_JOB: Final = """\
You edit a workspace, and you do it with tools alone: each message of yours is made of tool calls, until the \
work is done.
1. Call state_get, and read what it returns.
2. Call state_patch to set /draft/foo to the string "bar". Change nothing else, and ask for no permission.
3. Look at "ok" in the result. If it is false, read "errors", mend the call and make it again.
4. Only after a state_patch has come back with "ok": true, write the one sentence: Done."""
_ONE_BY_ONE: Final = "- Make one tool call in a message, then wait for its result."
_EXAMPLES: Final = """\
Arguments look like this:
state_get: {"select": ["/draft/foo"]}
state_patch: {"request_id": "r1", "ops": [{"op": "set", "path": "/draft/foo", "value": "bar"}]}"""

_READ_FIRST: Final = exercise("state_get_first", called_before("state_get", before="state_patch"))
_BOTH_FIRST: Final = exercise("both_first", first_calls_are("state_get", "state_patch"))


def _chat(seed: str) -> Case:
    """The tools are there, and switched off, so that the control differs in nothing but that."""
    messages = (
        SystemMessage("There are no tools in this conversation. Do just what the user asks for."),
        UserMessage("Answer with this one sentence, and nothing else: Done."),
    )
    return Case(messages, WORKSPACE_TOOLS, Workspace.of(seed))


_READ: Final = call("state_get")
_WRITE: Final = call("state_patch", **patch())
_WRONG: Final = call("state_patch", **patch("baz"))
_LONG: Final = call("state_patch", **patch("x" * 320))
_READ_THERE: Final = call("state_get", workspace_id="$workspace")
_WRITE_THERE: Final = call("state_patch", **patch(workspace_id="$workspace"))
_ELSEWHERE: Final = call("state_patch", **patch(path="/draft/other"))
_NO_LIST: Final = call("state_patch", request_id="r1", ops=7)

_GOOD: Final = script(_READ_THERE, _WRITE_THERE, "Done.")
_BLIND: Final = script(_WRITE_THERE, "Done.")
_BAD: Final = script(_READ, _WRONG, "Done.")


def _partly(seen: Evidence) -> str:
    """Some turn read with success and patched without."""
    for turn in seen.turns:
        results = {(call.name, call.ok) for call in turn.calls}
        if {("state_get", True), ("state_patch", False)} <= results:
            return ""
    return "no turn had a state_get that worked beside a state_patch that did not"


def _failed_patch(seen: Evidence) -> str:
    """Some patch has failed before one worked."""
    failed = any(call.name == "state_patch" and not call.ok for call in seen.calls)
    return "" if failed else "no state_patch ever failed, so there was nothing to recover from"


def _several_calls(scenario: str) -> Preset:
    """Request and accept several calls in a reply, whatever the strategy."""
    return Preset.of(
        scenario,
        {"config": {"max_tool_calls_per_turn": "off"}, "request_overrides": {"parallel_tool_calls": True}},
    )


HAPPY_PATH: Final = fixed(
    "happy_path",
    "reference",
    "Read, patch, finish.",
    1,
    ("default", "smoke", "typical", "simple", "extreme"),
    opening(_JOB, _ONE_BY_ONE, _EXAMPLES),
    (DONE, DRAFT, _READ_FIRST),
    scripts=ScenarioScripts(_GOOD, _BAD, _BLIND),
)

PARTIAL_SUCCESS_FAILURE: Final = fixed(
    "partial_success_failure",
    "reference",
    "Two calls at once, one of which is refused; then the right one.",
    1,
    ("extreme",),
    opening(
        _JOB,
        "- This is an exercise in partial failure. Put two calls into your first message: state_get, and a"
        ' state_patch that sets /draft/other to "bar", which will be refused.',
        "- After that, make one tool call in a message: patch /draft/foo, then finish.",
        _EXAMPLES,
    ),
    (DONE, DRAFT, outcome("partial", _partly), _BOTH_FIRST),
    _several_calls("partial_success_failure"),
    ScenarioScripts(
        script(_READ + _ELSEWHERE, _WRITE, "Done."),
        script(_READ, _WRITE, "Done."),
        script(_READ, _READ + _ELSEWHERE, _WRITE, "Done."),
    ),
)

MISSING_WORKSPACE_ID: Final = fixed(
    "missing_workspace_id",
    "reference",
    "Leave out an argument that is optional.",
    1,
    ("default", "smoke", "typical", "extreme"),
    opening(
        _JOB,
        _ONE_BY_ONE,
        "- Do not pass workspace_id to any tool: without it, the current workspace is meant.",
        "- The identifier that the user gives is no value; never write it into the draft.",
        _EXAMPLES,
    ),
    (DONE, DRAFT, exercise("left_out", argument_omitted("workspace_id"))),
    scripts=ScenarioScripts(
        script(_READ, _WRITE, "Done."),
        script(_READ, call("state_patch", **patch("$workspace")), "Done."),
        _GOOD,
    ),
)

TYPE_ERROR_RECOVERY: Final = fixed(
    "type_error_recovery",
    "reference",
    "Recover from arguments of a wrong type.",
    1,
    ("default", "smoke", "typical", "extreme"),
    opening(
        _JOB,
        _ONE_BY_ONE,
        "- Mind that ops is a list of objects, even when it has one. Neither an object nor text will do;"
        " if that is what you sent, the result says so, and you send a list.",
        _EXAMPLES,
    ),
    (DONE, DRAFT, exercise("patch_failed", _failed_patch)),
    scripts=ScenarioScripts(script(_READ, _NO_LIST, _WRITE, "Done."), _BAD, _GOOD),
)

HAPPY_PATH_PARALLEL: Final = fixed(
    "happy_path_parallel",
    "reference",
    "Two calls in one message.",
    1,
    (),
    opening(
        _JOB,
        "- Put two calls into your first message: the state_get and the state_patch on /draft/foo.",
        "- When both have worked, finish.",
        _EXAMPLES,
    ),
    (DONE, DRAFT, outcome("together", parallel_calls_made), _BOTH_FIRST),
    _several_calls("happy_path_parallel"),
    ScenarioScripts(
        script(_READ + _WRITE, "Done."),
        script(_READ, _WRITE, "Done."),
        script(_READ, _READ + _WRITE, "Done."),
    ),
)

LONG_ARGUMENTS_GUARD: Final = fixed(
    "long_arguments_guard",
    "reference",
    "Recover from arguments that are too large.",
    1,
    ("default", "smoke", "typical", "extreme"),
    opening(
        "You edit a workspace, and you do it with tools alone. This is an exercise in size limits.",
        _ONE_BY_ONE,
        "- First call state_patch with request_id r1, and set /draft/foo to 300 or more letters x.",
        '- That call is refused with ARGUMENTS_TOO_LARGE. Call state_patch again, with the value "bar".',
        '- Should the long value be accepted after all, patch once more with "bar".',
        '- You are not finished before /draft/foo is "bar". Then answer with the one sentence: Done.',
        _EXAMPLES,
    ),
    (DONE, DRAFT, exercise("too_large", error_occurred("ARGUMENTS_TOO_LARGE", "state_patch"))),
    Preset.of(
        "long_arguments_guard",
        {"config": {"max_tool_args_bytes": 300}, "request_overrides": {"max_tokens": 1024}},
    ),
    ScenarioScripts(script(_LONG, _WRITE, "Done."), script(_LONG, "Done."), script(_READ, _WRITE, "Done.")),
)

TOOL_OUTPUT_TRUNCATION: Final = fixed(
    "tool_output_truncation",
    "reference",
    "Go on without a result that is too large.",
    1,
    ("extreme",),
    opening(
        _JOB,
        _ONE_BY_ONE,
        "- This workspace holds more than may be shown: read all of it once, without select. That fails with"
        " TOOL_OUTPUT_TOO_LARGE. Do not read again, patch all the same.",
        _EXAMPLES,
        draft={"big": "0123456789ab" * 1_000},
    ),
    (DONE, DRAFT, outcome("too_large", error_occurred("TOOL_OUTPUT_TOO_LARGE")), _READ_FIRST),
    Preset.of(
        "tool_output_truncation",
        {"config": {"max_tool_output_bytes": 5_000, "tool_failure_policy": "tolerated"}},
    ),
    ScenarioScripts(script(_READ, _WRITE, "Done."), script(_READ, "Done."), script(_WRITE, _READ, "Done.")),
)

CHAT_ONLY: Final = fixed(
    "chat_only",
    "reference",
    "The control: a conversation without tools.",
    1,
    ("default", "smoke", "typical", "simple", "extreme"),
    _chat,
    (DONE,),
    Preset.of(
        "chat_only", {"config": {"tool_use_mode": "disabled"}, "request_overrides": {"max_tokens": 1024}}
    ),
    ScenarioScripts(script("Done."), script("I would rather talk about the weather.")),
)

REFERENCE: Final = (
    HAPPY_PATH,
    PARTIAL_SUCCESS_FAILURE,
    MISSING_WORKSPACE_ID,
    TYPE_ERROR_RECOVERY,
    HAPPY_PATH_PARALLEL,
    LONG_ARGUMENTS_GUARD,
    TOOL_OUTPUT_TRUNCATION,
    CHAT_ONLY,
)
"""In the reference's order."""


def _capped(scenario: Scenario, tokens: int) -> Scenario:
    name = f"{scenario.name}_capped"
    cap = Preset.of(name, {"request_overrides": {"max_tokens": tokens}})
    about = f"{scenario.about} With the reference's cap of {tokens} tokens a reply."
    changes = replace(scenario.changes.merged(cap), names=(name,))
    return replace(scenario, name=name, pack="capped", about=about, groups=(), changes=changes)


CAPPED: Final = (_capped(LONG_ARGUMENTS_GUARD, 256), _capped(CHAT_ONLY, 32))
"""Each under its own name, so that both can be in one plan."""


_FAULTS_JOB: Final = """\
You edit a workspace with tools, and nobody is there to be asked.
- Read the workspace with state_get, then set /draft/foo to the string "bar" with state_patch.
- Make one tool call in a message, and look at "ok" in its result. If it is false, do what helps.
- When /draft/foo is "bar", answer with the one sentence: Done."""

_TOLERANT: Final = {"config": {"tool_failure_policy": "tolerated"}}

FAULTS: Final = (
    fixed(
        "patch_fails_once",
        "faults",
        "The first patch fails for no fault of the model, and works when it is made again.",
        1,
        (),
        opening(_FAULTS_JOB, mishaps=Mishaps(failing_patches=(1,))),
        (DONE, DRAFT, exercise("failed_once", error_occurred("UNAVAILABLE"))),
        scripts=ScenarioScripts(script(_READ, _WRITE, _WRITE, "Done."), script(_READ, _WRITE, "Done.")),
    ),
    fixed(
        "first_read_cut",
        "faults",
        "Only half of the first read arrives.",
        1,
        (),
        opening(_FAULTS_JOB, mishaps=Mishaps(cut_reads=(1,))),
        (
            DONE,
            DRAFT,
            exercise("cut", error_occurred("TOOL_OUTPUT_NOT_JSON", "state_get")),
            exercise("state_get_first", called_before("state_get", before="state_patch")),
        ),
        Preset.of("first_read_cut", _TOLERANT),
        ScenarioScripts(
            script(_READ, _READ, _WRITE, "Done."), script(_READ, "Done."), script(_WRITE, "Done.")
        ),
    ),
    fixed(
        "first_read_huge",
        "faults",
        "The first read brings far more than was asked for.",
        1,
        (),
        opening(_FAULTS_JOB, mishaps=Mishaps(huge_reads=(1,))),
        (DONE, DRAFT, exercise("too_large", error_occurred("TOOL_OUTPUT_TOO_LARGE", "state_get"))),
        Preset.of(
            "first_read_huge",
            {"config": {"max_tool_output_bytes": 5_000, "tool_failure_policy": "tolerated"}},
        ),
        ScenarioScripts(
            script(_READ, call("state_get", select=["/draft"]), _WRITE, "Done."),
            script(_READ, "Done."),
            script(_WRITE, "Done."),
        ),
    ),
)
"""Three ways in which the world can fail."""
