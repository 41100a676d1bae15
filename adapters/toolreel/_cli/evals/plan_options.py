"""The options of a plan, shared by all commands that take one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import reduce, wraps
from itertools import starmap
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from toolreel._cli.options import header_option, parse_settings
from toolreel._internal import EvalPlanError
from toolreel_core._jsontext import Tree, merged
from toolreel_core.evals import SETTINGS, Setting

_Result = TypeVar("_Result")


_FLAGS: Final = {
    f"plan_{each.option.removeprefix('--').replace('-', '_')}": each for each in SETTINGS if each.option
}
_NUMBERS: Final = {"count": int, "positive": int, "number": float, "seconds": float}


def plan_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options of a plan, and pass it the resulting ``plan``.

    An invalid plan raises :class:`ToolreelError` before the command starts.
    """

    @wraps(command)
    def with_plan(**options: Any) -> _Result:  # noqa: ANN401 - click hands over every option by name
        given = {setting: options.pop(name) for name, setting in _FLAGS.items()}
        path, settings, variables = (
            options.pop(name) for name in ("plan_path", "plan_settings", "plan_headers")
        )
        from toolreel.evals import load_eval_plan

        parsed = parse_settings(settings)
        for key in parsed.provider:
            what = "what a provider takes is up to the strategies; write one that says so"
            raise EvalPlanError(f"--set {key}: {what}")
        sections: Tree = {"loop": parsed.config, "sampling": parsed.options}
        tables = {key: value for key, value in sections.items() if value}
        headers: Tree = {"endpoint": {"headers_env": dict(variables)}} if variables else {}
        plan = load_eval_plan(
            path,
            reduce(merged, (tables, headers, _tree_of_flags(given))),
            environ=os.environ,
            flags={setting.path: setting.option for setting in _FLAGS.values()},
        )
        return command(plan=plan, **options)

    decorators: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("plan_path", metavar="[PLAN]", required=False, type=click.Path(path_type=Path)),
        *starmap(_click_option, _FLAGS.items()),
        header_option("plan_headers"),
        click.option(
            "--set",
            "plan_settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the loop (max_turns=5) or an option of the request (max_tokens=512).",
        ),
    ]
    decorated: Callable[..., _Result] = with_plan
    for decorate in reversed(decorators):  # so that help lists them in this order
        decorated = decorate(decorated)
    return decorated


def _click_option(name: str, setting: Setting) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    typed: dict[str, Any] = {"default": None, "help": setting.about}
    if setting.kind == "switch":
        switch = f"{setting.option}/--no-{setting.option.removeprefix('--')}"
        return click.option(switch, name, **typed)
    # Words may come in one option or in several: otherwise all but the last would be lost.
    typed["multiple"] = setting.kind in {"words", "tools"}
    if number := _NUMBERS.get(setting.kind):
        typed["type"] = number
    else:
        typed["metavar"] = setting.kind.upper()
    return click.option(setting.option, name, **typed)


def _tree_of_flags(given: Mapping[Setting, Any]) -> Tree:
    tree: Tree = {}
    for setting, value in given.items():
        if value not in (None, ()):
            text = ",".join(value) if isinstance(value, tuple) else value
            tree = merged(tree, setting.tree(setting.parse_variable(text) if isinstance(text, str) else text))
    return tree
