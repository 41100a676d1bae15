"""The scenarios of the reference's eight kinds, each with a difficulty of its own, and two capped ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._conversation import SystemMessage, UserMessage
from toolreel_core._jsontext import Tree
from toolreel_core._plan import Preset
from toolreel_core.evals._scenarios.builtin.cases import drawn
from toolreel_core.evals._scenarios.builtin.workspace_task import (
    DONE,
    FINAL,
    READ,
    READ_FIRST,
    READ_THERE,
    Task,
    patching,
)
from toolreel_core.evals._scenarios.checks import (
    argument_omitted,
    called_before,
    error_occurred,
    exercise,
    first_calls_are,
    outcome,
    parallel_calls_made,
)
from toolreel_core.evals._scenarios.draws import Draws
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case, Scenario
from toolreel_core.evals._scenarios.scripted_model import Line, ScenarioScripts, call, script
from toolreel_core.evals._worlds.facts_and_draft import Workspace, workspace_tools

_JOB: Final = """\
You edit a workspace, and you do it with tools alone: each message of yours is made of tool calls, until the \
work is done.
1. Call state_get, and read what it returns.
2. Call state_patch to change <path> from the string "<old>" to the string "<value>". Change nothing else, \
and ask for no permission.
3. Look at "ok" in the result. If it is false, read "errors", mend the call and make it again.
4. Only after a state_patch has come back with "ok": true, write the one sentence: Done."""
_ONE_BY_ONE: Final = "- Make one tool call in a message, then wait for its result."
_EXAMPLES: Final = """\
Arguments look like this:
state_get: {"select": ["<path>"]}
state_patch: {"request_id": "r1", "ops": [{"op": "set", "path": "<path>", "value": "<example>"}]}"""

_BOTH_FIRST: Final = exercise("both_first", first_calls_are("state_get", "state_patch"))


def _both(task: Task, *, path: str = "") -> Line:
    return READ + call("state_patch", **task.patch(path=path))


def _good(task: Task) -> tuple[Line, ...]:
    return (READ_THERE, patching(task, workspace="$workspace"), FINAL)


def _bad(task: Task) -> tuple[Line, ...]:
    return (READ, patching(task, task.wrong), FINAL)


def _happy_path(draws: Draws) -> Case:
    task = Task.of(draws)
    blind = script(patching(task, workspace="$workspace"), FINAL)
    return task.case(
        *(_JOB, _ONE_BY_ONE, _EXAMPLES),
        checks=(READ_FIRST,),
        scripts=ScenarioScripts(script(*_good(task)), script(*_bad(task)), blind),
    )


def _partly(seen: Evidence) -> str:
    """Some turn read with success and patched without."""
    for turn in seen.turns:
        results = {(call.name, call.ok) for call in turn.calls}
        if {("state_get", True), ("state_patch", False)} <= results:
            return ""
    return "no turn had a state_get that worked beside a state_patch that did not"


def _partial_success_failure(draws: Draws) -> Case:
    task = Task.of(draws)
    refused, right = _both(task, path=task.other), patching(task)
    return task.case(
        _JOB,
        "- This is an exercise in partial failure. Put two calls into your first message: state_get, and a"
        ' state_patch that sets <other> to "<value>", which will be refused.',
        "- After that, make one tool call in a message: patch <path>, then finish.",
        _EXAMPLES,
        checks=(outcome("partial", _partly), _BOTH_FIRST),
        scripts=ScenarioScripts(
            script(refused, right, FINAL),
            script(READ, right, FINAL),
            script(READ, refused, right, FINAL),
        ),
    )


def _missing_workspace_id(draws: Draws) -> Case:
    task = Task.of(draws)
    return task.case(
        *(_JOB, _ONE_BY_ONE),
        "- Do not pass workspace_id to any tool: without it, the current workspace is meant.",
        "- The identifier that the user gives is no value; never write it into the draft.",
        _EXAMPLES,
        checks=(
            exercise("left_out", argument_omitted("workspace_id")),
            exercise("both_called", called_before("state_get", before="state_patch")),
        ),
        scripts=ScenarioScripts(
            script(READ, patching(task), FINAL),
            script(READ, patching(task, "$workspace"), FINAL),
            script(*_good(task)),
        ),
    )


def _failed_patch(seen: Evidence) -> str:
    """Some patch has failed before one worked."""
    fates = [call.ok for call in seen.calls if call.name == "state_patch"]
    failed = False in fates[: fates.index(True)] if True in fates else False in fates
    return "" if failed else "no state_patch failed before one worked, so there was nothing to recover from"


def _type_error_recovery(draws: Draws) -> Case:
    task = Task.of(draws)
    no_list = call("state_patch", request_id="r1", ops=7)
    return task.case(
        *(_JOB, _ONE_BY_ONE),
        "- Mind that ops is a list of objects, even when it has one. Neither an object nor text will do;"
        " if that is what you sent, the result says so, and you send a list.",
        _EXAMPLES,
        checks=(exercise("patch_failed", _failed_patch),),
        scripts=ScenarioScripts(
            script(READ, no_list, patching(task), FINAL), script(*_bad(task)), script(*_good(task))
        ),
    )


def _happy_path_parallel(draws: Draws) -> Case:
    task = Task.of(draws)
    return task.case(
        _JOB,
        "- Put two calls into your first message: the state_get and the state_patch on <path>.",
        "- When both have worked, finish.",
        _EXAMPLES,
        checks=(outcome("together", parallel_calls_made), _BOTH_FIRST),
        scripts=ScenarioScripts(
            script(_both(task), FINAL),
            script(READ, patching(task), FINAL),
            script(READ, _both(task), FINAL),
        ),
    )


def _long_arguments_guard(draws: Draws) -> Case:
    task = Task.of(draws)
    long = patching(task, "x" * 320)
    return task.case(
        "You edit a workspace, and you do it with tools alone. This is an exercise in size limits.",
        _ONE_BY_ONE,
        "- First call state_patch with request_id r1, and set <path> to 300 or more letters x.",
        "- That call is refused with ARGUMENTS_TOO_LARGE. Call state_patch again, to change <path> from"
        ' "<old>" to "<value>".',
        '- Should the long value be accepted after all, patch once more with "<value>".',
        '- You are not finished before <path> is "<value>". Then answer with the one sentence: Done.',
        _EXAMPLES,
        checks=(
            exercise("too_large", error_occurred("ARGUMENTS_TOO_LARGE", "state_patch")),
            exercise("refused_first", _failed_patch),
        ),
        scripts=ScenarioScripts(
            script(long, patching(task), FINAL), script(long, FINAL), script(READ, patching(task), FINAL)
        ),
    )


def _tool_output_truncation(draws: Draws) -> Case:
    task = Task.of(draws)
    return task.case(
        *(_JOB, _ONE_BY_ONE),
        "- This workspace holds more than may be shown: read all of it once, without select. That fails with"
        " TOOL_OUTPUT_TOO_LARGE. Do not read again, patch all the same.",
        _EXAMPLES,
        draft={"big": "0123456789ab" * 1_000},
        checks=(outcome("too_large", error_occurred("TOOL_OUTPUT_TOO_LARGE")), READ_FIRST),
        scripts=ScenarioScripts(
            script(READ, patching(task), FINAL),
            script(READ, FINAL),
            script(patching(task), READ, FINAL),
        ),
    )


def _chat_only(draws: Draws) -> Case:
    """The tools are there, and switched off, so that the control differs in nothing but that."""
    messages = (
        SystemMessage("There are no tools in this conversation. Do just what the user asks for."),
        UserMessage("Answer with this one sentence, and nothing else: Done."),
    )
    scripts = ScenarioScripts(script(FINAL), script("I would rather talk about the weather."))
    return Case(messages, workspace_tools(), Workspace.of(draws.seed), (DONE,), scripts)


_SEVERAL: Final[Tree] = {"parallel_tool_calls": True}
"""Request and accept several calls in a reply, whatever the strategy."""
_UNLIMITED: Final[Tree] = {"max_tool_calls_per_turn": "off"}
_TYPICAL: Final = ("default", "smoke", "typical", "extreme")

HAPPY_PATH: Final = drawn(
    "happy_path", "reference", "Read, patch, finish.", _happy_path, groups=(*_TYPICAL, "simple")
)
LONG_ARGUMENTS_GUARD: Final = drawn(
    "long_arguments_guard",
    "reference",
    "Recover from arguments that are too large.",
    _long_arguments_guard,
    config={"max_tool_args_bytes": 300},
    request={"max_tokens": 1024},
    groups=_TYPICAL,
)
CHAT_ONLY: Final = drawn(
    "chat_only",
    "reference",
    "The control: a conversation without tools.",
    _chat_only,
    config={"tool_use_mode": "disabled"},
    request={"max_tokens": 1024},
    groups=(*_TYPICAL, "simple"),
)

REFERENCE: Final = (
    HAPPY_PATH,
    drawn(
        "partial_success_failure",
        "reference",
        "Two calls at once, one of which is refused; then the right one.",
        _partial_success_failure,
        config=_UNLIMITED,
        request=_SEVERAL,
        groups=("extreme",),
    ),
    drawn(
        "missing_workspace_id",
        "reference",
        "Leave out an argument that is optional.",
        _missing_workspace_id,
        groups=_TYPICAL,
    ),
    drawn(
        "type_error_recovery",
        "reference",
        "Recover from arguments of a wrong type.",
        _type_error_recovery,
        groups=_TYPICAL,
    ),
    drawn(
        "happy_path_parallel",
        "reference",
        "Two calls in one message.",
        _happy_path_parallel,
        config=_UNLIMITED,
        request=_SEVERAL,
    ),
    LONG_ARGUMENTS_GUARD,
    drawn(
        "tool_output_truncation",
        "reference",
        "Go on without a result that is too large.",
        _tool_output_truncation,
        config={"max_tool_output_bytes": 5_000, "tool_failure_policy": "tolerated"},
        groups=("extreme",),
    ),
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
