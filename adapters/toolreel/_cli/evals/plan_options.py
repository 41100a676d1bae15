"""The options of a plan, shared by all commands that take one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce, wraps
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click

from toolreel._cli.console import complain
from toolreel._cli.errors import USAGE
from toolreel._cli.options import catalogue_option, parse_settings
from toolreel._cli.server_options import API_KEY_HEADER_HELP, header_option
from toolreel._internal import EvalPlanError
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, merged, read
from toolreel_core._settings import ToolFailurePolicy
from toolreel_core.evals import SIZES, comma_separated

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Flag:
    """One option, and the place of its value in a plan file."""

    section: str
    name: str
    help: str
    kind: Any = "NAME"
    """Its type; a text is the metavar of an option that takes any text."""
    to: tuple[str, ...] | None = None
    """The place within the section, unless it is the option's own name."""
    multiple: bool = False

    @property
    def key(self) -> str:
        """The name of its parameter."""
        return f"plan_{self._bare}"

    @property
    def place(self) -> tuple[str, ...]:
        """Its place in a plan file."""
        return (self.section, *((self._bare,) if self.to is None else self.to))

    @property
    def _bare(self) -> str:
        return self.name.removeprefix("--").replace("-", "_")


_WORDS: Final = "WORDS"
"""The metavar of words in a list, divided by commas."""
_SWITCH: Final = click.BOOL
_OBJECT: Final = "JSON"

_FLAGS: Final = (
    _Flag("eval", "--preset", f"Defaults for options that you leave out: {', '.join(SIZES)}."),
    _Flag(
        "eval",
        "--models",
        "Which models of the catalogue: names, vendors, tags such as `stable`, patterns with *; "
        "!WORD excludes.",
        _WORDS,
    ),
    _Flag(
        "eval",
        "--model",
        "A model by its exact name, in the catalogue or not; repeatable. Without --models, only these run.",
        to=("add_models",),
        multiple=True,
    ),
    _Flag(
        "eval",
        "--profiles",
        "Which sampling profiles: names, tags, patterns; `auto` is the recommended one of each model.",
        _WORDS,
    ),
    _Flag("eval", "--strategies", "Which strategies: raw, baseline, production, or your own.", _WORDS),
    _Flag(
        *("eval", "--scenarios"),
        "Which scenarios: names, groups such as production, and files of your own (FILE.toml).",
        _WORDS,
    ),
    _Flag("eval", "--trials", "Runs of each cell.", int),
    _Flag("eval", "--jobs", "Maximum number of concurrent runs.", int),
    _Flag(
        "eval",
        "--verbosity",
        "Of `eval run`: 0 prints nothing but errors, 1 progress, 2 a line for each run.",
        int,
    ),
    _Flag("eval", "--enforce-applicability", "Skip sampling profiles that do not apply to a model.", _SWITCH),
    _Flag("eval", "--tool-use-mode", "enforced, relaxed or disabled.", "MODE"),
    _Flag(
        "eval",
        "--tool-failure-policy",
        "Whether failed tool calls fail the run.",
        click.Choice(get_args(ToolFailurePolicy)),
    ),
    _Flag(
        "eval",
        "--fallback-retries",
        "Above 0: in relaxed mode, go on without tools if the server refuses them.",
        int,
    ),
    _Flag("eval", "--fix-empty-final", "Ask again when the final text is empty.", _SWITCH),
    _Flag("eval", "--tool-allowlist", "Tools that may be called.", _WORDS),
    _Flag("eval", "--content-tag-fallback", "Read calls from text under every strategy but raw.", _SWITCH),
    _Flag("eval", "--empty-response-retries", "Retries after an empty response.", int),
    _Flag("eval", "--void-retries", "Retries after the provider failed.", int),
    _Flag(
        "eval",
        "--accept-void",
        "Void runs of this category (transport.forbidden for 403) count as ended: they are not repeated. "
        "Repeatable.",
        "CATEGORY",
        multiple=True,
    ),
    _Flag(
        "eval",
        "--min-coverage",
        "Minimum share of runs that say something, 0.9 by default: with fewer, gates are undecided.",
        float,
    ),
    _Flag("eval", "--seeds", "Send a different seed with each trial.", _SWITCH),
    _Flag("eval", "--endpoints", "Which of the plan's [endpoints.NAME]: names, patterns.", _WORDS),
    _Flag("endpoint", "--base-url", "An OpenAI-compatible server.", "URL"),
    _Flag("endpoint", "--api-prefix", "Appended to a URL without a version; empty for none.", "PATH"),
    _Flag("endpoint", "--api-key-env", "The variable that holds the API key.", "VAR"),
    _Flag("endpoint", "--api-key-header", API_KEY_HEADER_HELP, "NAME"),
    _Flag("endpoint", "--provider", "The provider whose presets apply."),
    _Flag("endpoint", "--timeout", "Seconds for a whole exchange; 0: no limit.", float),
    _Flag("endpoint", "--open-timeout", "Seconds until the connection is open.", float),
    _Flag("endpoint", "--read-timeout", "Seconds until the next bytes arrive.", float),
    _Flag("sampling", "--sampling-json", "Options that override every profile.", _OBJECT, ()),
    _Flag("sampling", "--temperature", "Overrides --sampling-json, like the next three.", float),
    _Flag("sampling", "--top-p", "The same.", float),
    _Flag("sampling", "--top-k", "The same.", int),
    _Flag("sampling", "--min-p", "The same.", float),
    _Flag("request_overrides", "--route", "OpenRouter: the route."),
    _Flag("request_overrides", "--transforms", "OpenRouter: none, or a list.", _WORDS),
    *(
        _Flag("request_overrides", f"--provider-{key}", f"OpenRouter: {what}.", _WORDS, ("provider", key))
        for key, what in (
            ("only", "only these providers"),
            ("order", "providers in this order"),
            ("ignore", "none of these providers"),
        )
    ),
    _Flag("request_overrides", "--request-overrides", "Merged into every request body.", _OBJECT, ()),
    _Flag("budget", "--max-cost", "Maximum cost of all runs.", float),
    _Flag("budget", "--max-total-tokens", "Maximum tokens of all runs.", int, ("max_tokens",)),
    _Flag("budget", "--max-minutes", "Maximum minutes for all runs.", float),
)

_OTHERS: Final = ("plan_path", "plan_settings", "plan_headers", "catalogues")


def plan_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options of a plan, and pass it the resulting ``plan``.

    An invalid plan ends the command with a usage error before it starts.
    """

    @wraps(command)
    def with_plan(**options: Any) -> _Result:  # noqa: ANN401 - click hands over every option by name
        given = {flag: options.pop(flag.key) for flag in _FLAGS}
        path, settings, variables, catalogues = (options.pop(name) for name in _OTHERS)
        try:
            from toolreel.evals import planned

            headers: Tree = {"endpoint": {"headers_env": dict(variables)}} if variables else {}
            plan = planned(
                path,
                reduce(merged, (_of_settings(settings), headers, _of_flags(given))),
                environ=os.environ,
                flags={flag.place: flag.name for flag in _FLAGS},
                catalogues=catalogues,
            )
        except ToolreelError as error:
            complain(str(error))
            sys.exit(USAGE)
        return command(plan=plan, **options)

    decorators: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("plan_path", metavar="[PLAN]", required=False, type=click.Path(path_type=Path)),
        *map(_option, _FLAGS),
        header_option("plan_headers"),
        click.option(
            "--set",
            "plan_settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the loop (max_turns=5) or an option of the request (max_tokens=512).",
        ),
        catalogue_option,
    ]
    decorated: Callable[..., _Result] = with_plan
    for decorate in reversed(decorators):  # so that help lists them in this order
        decorated = decorate(decorated)
    return decorated


def _option(flag: _Flag) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    if flag.kind is _SWITCH:
        switch = f"{flag.name}/--no-{flag.name.removeprefix('--')}"
        return click.option(switch, flag.key, default=None, help=flag.help)
    typed: dict[str, Any] = {"metavar": flag.kind} if isinstance(flag.kind, str) else {"type": flag.kind}
    # Words may come in one option or in several: otherwise all but the last would be lost.
    several = flag.multiple or flag.kind == _WORDS
    return click.option(*(flag.name, flag.key), default=None, help=flag.help, multiple=several, **typed)


def _of_flags(given: Mapping[_Flag, Any]) -> Tree:
    tree: Tree = {}
    # Whole objects first, so that the options of single keys override them.
    for flag in sorted(given, key=lambda flag: flag.kind != _OBJECT):
        value = given[flag]
        if value is None or value == ():
            continue
        placed: Json = [*value] if flag.multiple else value
        if flag.kind == _WORDS:
            placed = ",".join(value)
            if flag.section == "request_overrides":  # sent as it is, so a list
                words = comma_separated(placed)
                placed = [] if flag.name == "--transforms" and words == ("none",) else [*words]
        elif flag.kind == _OBJECT:
            placed = read(value).value_or(None)
            if not isinstance(placed, Mapping):
                raise EvalPlanError(f"{flag.name}: expected a JSON object, got {value!r}")
        for key in reversed(flag.place):
            placed = {key: placed}
        tree = merged(tree, as_tree(placed))
    return tree


def _of_settings(items: tuple[str, ...]) -> Tree:
    settings = parse_settings(items)
    if settings.provider:
        key = next(iter(settings.provider))
        raise EvalPlanError(
            f"--set {key}: what a provider takes is up to the strategies; write one that says so"
        )
    sections: Tree = {"loop": settings.config, "sampling": settings.options}
    return {key: value for key, value in sections.items() if value}
