"""The five scenarios of the tool calling case study of 2026-02-08, as it ran them.

What is known of the study's harness is taken over as it is, weaknesses included: the order, the user's text
(``workspace_id=`` and the identifier), the final word, the tools, the caps of 256 and 32 tokens and of 300
bytes of arguments, and that nothing checks whether the hard part was met. The words of its system texts are
not published, so those here are ours. The five have a version of their own, and are no part of the
catalogue's digest: what changes in the other scenarios changes nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from toolreel_core._conversation import SystemMessage, UserMessage
from toolreel_core._jsontext import Json, Tree
from toolreel_core._plan import Preset
from toolreel_core.evals._scenarios.checks import outcome, says_done, world_has
from toolreel_core.evals._scenarios.scenario import Case, Check, Scenario
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._worlds.facts_and_draft import WORKSPACE_TOOLS, Workspace

CASE_STUDY_VERSION: Final = 1
"""Of all five: the words and caps are changed together or not at all."""

_PACK: Final = "case-study"
_DONE: Final = outcome("final", says_done)
_DRAFT: Final = outcome("draft", world_has("/draft/foo", "bar"))

_TASK: Final = """\
You work on a workspace by calling tools, one call in a message.
- Begin with state_get, and read the result.
- Then set /draft/foo to the string "bar" with state_patch. Change nothing else, and ask for no confirmation.
- If a result has "ok": false, read its errors, correct the call and make it again.
- Do not finish before a state_patch has worked. Then answer with the single sentence: Done."""
_EXAMPLES: Final = """\
Examples of arguments:
state_get: {"select": ["/draft/foo"]}
state_patch: {"request_id": "r1", "ops": [{"op": "set", "path": "/draft/foo", "value": "bar"}]}"""


def _patch(value: Json) -> Tree:
    return {"request_id": "r1", "ops": [{"op": "set", "path": "/draft/foo", "value": value}]}


_READ: Final = call("state_get")
_WRITE: Final = call("state_patch", **_patch("bar"))
_WRONG: Final = call("state_patch", **_patch("baz"))
_LONG: Final = call("state_patch", **_patch("x" * 320))
_SCRIPTS: Final = ScenarioScripts(script(_READ, _WRITE, "Done."), script(_READ, _WRONG, "Done."))


def _workspace(*system: str) -> Callable[[str], Case]:
    return partial(_posed, "\n".join(system))


def _posed(system: str, seed: str) -> Case:
    world = Workspace.of(seed)
    return Case((SystemMessage(system), UserMessage(f"workspace_id={world.id}")), WORKSPACE_TOOLS, world)


def _control(seed: str) -> Case:
    messages = (
        SystemMessage("Tools are off in this conversation."),
        UserMessage("Reply with exactly this, and nothing else: Done."),
    )
    return Case(messages, WORKSPACE_TOOLS, Workspace.of(seed))


def _scenario(
    name: str,
    about: str,
    begin: Callable[[str], Case],
    checks: tuple[Check, ...] = (_DONE, _DRAFT),
    changes: Preset | None = None,
    scripts: ScenarioScripts = _SCRIPTS,
) -> Scenario:
    def case(seed: str) -> Case:
        return replace(begin(seed), checks=checks, scripts=scripts)

    version = CASE_STUDY_VERSION
    return Scenario(f"study_{name}", _PACK, about, version, (), case, changes or Preset())


CASE_STUDY: Final = (
    _scenario("happy_path", "Read, patch, finish.", _workspace(_TASK, _EXAMPLES)),
    _scenario(
        "missing_workspace_id",
        "Leave out an argument that is optional.",
        _workspace(
            _TASK,
            "- Never pass workspace_id to a tool, and never write it into a value.",
            _EXAMPLES,
        ),
    ),
    _scenario(
        "type_error_recovery",
        "Recover from arguments of a wrong type.",
        _workspace(_TASK, "- ops has to be a list, even if there is one operation.", _EXAMPLES),
    ),
    _scenario(
        "long_arguments_guard",
        "Recover from arguments that are too large, with 256 tokens a reply.",
        _workspace(
            "You work on a workspace by calling tools, one call in a message.",
            "- First call state_patch with request_id r1, and set /draft/foo to 300 or more characters.",
            '- It comes back with ARGUMENTS_TOO_LARGE. Call state_patch again with the value "bar".',
            '- If the long value is accepted, call state_patch again with "bar" all the same.',
            "- Do not finish before that. Then answer with the single sentence: Done.",
            _EXAMPLES,
        ),
        changes=Preset.of(
            "study_long_arguments_guard",
            {"config": {"max_tool_args_bytes": 300}, "request_overrides": {"max_tokens": 256}},
        ),
        scripts=ScenarioScripts(script(_LONG, _WRITE, "Done."), script(_LONG, "Done.")),
    ),
    _scenario(
        "chat_only",
        "The control: a conversation without tools, with 32 tokens.",
        _control,
        (_DONE,),
        Preset.of(
            "study_chat_only",
            {"config": {"tool_use_mode": "disabled"}, "request_overrides": {"max_tokens": 32}},
        ),
        ScenarioScripts(script("Done."), script("I would rather talk about the weather.")),
    ),
)
"""In the study's order; ``study_`` before the study's own names."""
