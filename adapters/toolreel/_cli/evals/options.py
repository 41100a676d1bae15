"""The options that say what is evaluated, for all commands that have a plan."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce, wraps
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click

from toolreel._cli.live.set_options import parse_settings
from toolreel._cli.options.presets import catalogue_option
from toolreel._cli.output.console import complain
from toolreel._cli.output.errors import USAGE
from toolreel._errors import EvalPlanError
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext.canonical import Json, Tree, read
from toolreel_core._jsontext.trees import merged
from toolreel_core._settings.config import ToolFailurePolicy
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.options import SIZES

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Flag:
    """One option, and where what it says stands in a plan file."""

    name: str
    place: tuple[str, ...]
    help: str
    kind: Any = None
    """What click makes of it."""
    metavar: str | None = None
    multiple: bool = False

    @property
    def key(self) -> str:
        """The name of its parameter."""
        return "plan_" + self.name.partition("/")[0].removeprefix("--").replace("-", "_")


_SWITCH: Final = click.BOOL
_OBJECT: Final = "JSON"

_FLAGS: Final = (
    _Flag(
        "--preset",
        ("eval", "preset"),
        f"Defaults for options that you leave out: {', '.join(SIZES)}.",
        metavar="NAME",
    ),
    _Flag(
        "--models",
        ("eval", "models"),
        "Which models of the catalogue: names, vendors, tags such as `stable`, patterns with *; "
        "!WORD excludes.",
        metavar="WORDS",
    ),
    _Flag(
        "--model",
        ("eval", "add_models"),
        "A model by its exact name, in the catalogue or not; repeatable. Without --models, only these run.",
        metavar="NAME",
        multiple=True,
    ),
    _Flag(
        "--profiles",
        ("eval", "profiles"),
        "Which sampling profiles: names, tags, patterns; `auto` is the recommended one of each model.",
        metavar="WORDS",
    ),
    _Flag(
        "--strategies",
        ("eval", "strategies"),
        "Which strategies: raw, baseline, production, or your own.",
        metavar="WORDS",
    ),
    _Flag("--scenarios", ("eval", "scenarios"), "Which scenarios: names and groups.", metavar="WORDS"),
    _Flag(
        "--languages", ("eval", "languages"), "Language policies: off, tags such as ja-JP.", metavar="WORDS"
    ),
    _Flag(
        "--language-strict/--no-language-strict",
        ("eval", "language_strict"),
        "Fail answers in another language.",
        _SWITCH,
    ),
    _Flag("--trials", ("eval", "trials"), "Runs of each cell.", int),
    _Flag("--jobs", ("eval", "jobs"), "Maximum number of concurrent runs.", int),
    _Flag("--verbosity", ("eval", "verbosity"), "0 quiet, 1 events, 2 details.", int),
    _Flag(
        "--enforce-applicability/--no-enforce-applicability",
        ("eval", "enforce_applicability"),
        "Skip sampling profiles that do not apply to a model.",
        _SWITCH,
    ),
    _Flag("--tool-use-mode", ("eval", "tool_use_mode"), "enforced, relaxed or disabled.", metavar="MODE"),
    _Flag(
        "--tool-failure-policy",
        ("eval", "tool_failure_policy"),
        "Whether failed tool calls fail the run.",
        click.Choice(get_args(ToolFailurePolicy)),
    ),
    _Flag(
        "--fallback-retries",
        ("eval", "fallback_retries"),
        "Above 0: in relaxed mode, go on without tools if the server refuses them.",
        int,
    ),
    _Flag(
        "--fix-empty-final/--no-fix-empty-final",
        ("eval", "fix_empty_final"),
        "Ask once more when the final text is empty.",
        _SWITCH,
    ),
    _Flag("--tool-allowlist", ("eval", "tool_allowlist"), "Tools that may be called.", metavar="WORDS"),
    _Flag(
        "--content-tag-fallback/--no-content-tag-fallback",
        ("eval", "content_tag_fallback"),
        "Read calls from text with every model.",
        _SWITCH,
    ),
    _Flag(
        "--fallback-matrix/--no-fallback-matrix",
        ("eval", "fallback_matrix"),
        "Run everything without and with reading calls from text.",
        _SWITCH,
    ),
    _Flag(
        "--empty-response-retries",
        ("eval", "empty_response_retries"),
        "Retries after an empty response.",
        int,
    ),
    _Flag("--void-retries", ("eval", "void_retries"), "Retries after the provider failed.", int),
    _Flag("--seeds/--no-seeds", ("eval", "seeds"), "Send a different seed with each trial.", _SWITCH),
    _Flag("--base-url", ("endpoint", "base_url"), "An OpenAI-compatible server.", metavar="URL"),
    _Flag("--api-prefix", ("endpoint", "api_prefix"), "Appended to a URL without a version.", metavar="PATH"),
    _Flag(
        "--api-key-env", ("endpoint", "api_key_env"), "The variable that holds the API key.", metavar="VAR"
    ),
    _Flag("--provider", ("endpoint", "provider"), "The provider whose presets apply.", metavar="NAME"),
    _Flag("--timeout", ("endpoint", "timeout"), "Seconds for a whole exchange; 0: no limit.", float),
    _Flag("--open-timeout", ("endpoint", "open_timeout"), "Seconds until the connection is open.", float),
    _Flag("--read-timeout", ("endpoint", "read_timeout"), "Seconds until the next bytes arrive.", float),
    _Flag("--sampling-json", ("sampling",), "Options that override every profile.", metavar=_OBJECT),
    _Flag(
        "--temperature", ("sampling", "temperature"), "Overrides --sampling-json, like the next three.", float
    ),
    _Flag("--top-p", ("sampling", "top_p"), "The same.", float),
    _Flag("--top-k", ("sampling", "top_k"), "The same.", int),
    _Flag("--min-p", ("sampling", "min_p"), "The same.", float),
    _Flag("--route", ("request_overrides", "route"), "OpenRouter: the route.", metavar="NAME"),
    _Flag(
        "--transforms", ("request_overrides", "transforms"), "OpenRouter: none, or a list.", metavar="WORDS"
    ),
    _Flag(
        "--provider-only",
        ("request_overrides", "provider", "only"),
        "OpenRouter: only these providers.",
        metavar="WORDS",
    ),
    _Flag(
        "--provider-order",
        ("request_overrides", "provider", "order"),
        "OpenRouter: providers in this order.",
        metavar="WORDS",
    ),
    _Flag(
        "--provider-ignore",
        ("request_overrides", "provider", "ignore"),
        "OpenRouter: none of these providers.",
        metavar="WORDS",
    ),
    _Flag("--request-overrides", ("request_overrides",), "Merged into every request body.", metavar=_OBJECT),
    _Flag("--max-cost", ("budget", "max_cost"), "Maximum cost of all runs.", float),
    _Flag("--max-total-tokens", ("budget", "max_tokens"), "Maximum tokens of all runs.", int),
    _Flag("--max-minutes", ("budget", "max_minutes"), "Maximum minutes for all runs.", float),
)

_OTHERS: Final = ("plan_path", "plan_settings", "plan_headers", "catalogues")


def plan_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options of a plan, and pass it the resulting ``plan``.

    An invalid plan ends the command with a usage error before it starts.
    """

    @wraps(command)
    def with_plan(**options: Any) -> _Result:  # noqa: ANN401 - click hands over every option by name
        given = {flag.key: options.pop(flag.key) for flag in _FLAGS}
        others = {name: options.pop(name) for name in _OTHERS}
        try:
            plan = _planned(_of_flags(given), **others)
        except ToolreelError as error:
            complain(str(error))
            sys.exit(USAGE)
        return command(plan=plan, **options)

    decorators: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("plan_path", metavar="[PLAN]", required=False, type=click.Path(path_type=Path)),
        *map(_option, _FLAGS),
        click.option(
            "--header", "plan_headers", multiple=True, metavar="NAME=VALUE", help="A header of each request."
        ),
        click.option(
            "--set",
            "plan_settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the loop (max_turns=5) or an option of the request (max_tokens=512).",
        ),
        catalogue_option,
    ]
    done: Callable[..., _Result] = with_plan
    for decorate in reversed(decorators):  # so that help lists them in this order
        done = decorate(done)
    return done


def _planned(
    given: Tree,
    plan_path: Path | None,
    plan_settings: tuple[str, ...],
    plan_headers: tuple[str, ...],
    catalogues: tuple[Path, ...],
) -> EvalPlan:
    from toolreel.evals._store.plan_file import planned

    return planned(
        plan_path,
        reduce(merged, (_of_settings(plan_settings), _of_headers(plan_headers), given)),
        environ=os.environ,
        flags={flag.place: flag.name.partition("/")[0] for flag in _FLAGS},
        catalogues=catalogues,
    )


def _option(flag: _Flag) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    names = (flag.name, flag.key)
    if flag.kind is _SWITCH:
        return click.option(*names, default=None, help=flag.help)
    return click.option(
        *names, type=flag.kind, default=None, metavar=flag.metavar, help=flag.help, multiple=flag.multiple
    )


def _of_flags(given: Mapping[str, Any]) -> Tree:
    tree: Tree = {}
    for flag in sorted(_FLAGS, key=lambda flag: flag.metavar != _OBJECT):
        value = given[flag.key]
        if value is None or value == ():
            continue
        tree = merged(tree, _placed(flag.place, _plain(flag, value)))
    return tree


def _plain(flag: _Flag, value: Any) -> Json:  # noqa: ANN401 - what click hands over
    if flag.multiple:
        return [*value]
    if flag.metavar == _OBJECT:
        tree = read(str(value)).value_or(None)
        if not isinstance(tree, Mapping):
            raise EvalPlanError(f"{flag.name}: expected a JSON object, got {value!r}")
        return tree
    if flag.place[0] == "request_overrides" and flag.metavar == "WORDS":
        words = [word.strip() for word in str(value).split(",") if word.strip()]
        return [] if flag.place[-1] == "transforms" and words == ["none"] else [*words]
    plain: Json = value
    return plain


def _of_settings(items: tuple[str, ...]) -> Tree:
    settings = parse_settings(items)
    if settings.provider:
        key = next(iter(settings.provider))
        raise EvalPlanError(
            f"--set {key}: what a provider takes is up to the strategies; write one that says so"
        )
    sections: Tree = {"loop": settings.config, "sampling": settings.options}
    return {key: value for key, value in sections.items() if value}


def _of_headers(items: tuple[str, ...]) -> Tree:
    pairs = [item.partition("=") for item in items]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise EvalPlanError(f"--header {wrong[0]}: expected NAME=VALUE, for example X-Title=nightly")
    headers: Tree = {name: value for name, _, value in pairs}
    return {"endpoint": {"headers": headers}} if headers else {}


def _placed(place: tuple[str, ...], value: Json) -> Tree:
    first, *rest = place
    return {first: _placed(tuple(rest), value)} if rest else {first: value}
