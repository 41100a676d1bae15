"""``toolreel presets models`` and ``toolreel presets sampling``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.presets import catalogue_option
from toolreel._cli.output.columns import show_columns
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel.presets._catalogues import with_files
from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import Json, parse
from toolreel_core._plan.presets.collection import Measured, Model, Presets, SamplingProfile

_VERDICTS: Final[Mapping[str, str]] = {
    "yes": "yes",
    "yes_for_tools": "yes, for tools",
    "conditional": "conditional",
    "no": "no",
}


@click.command("models", epilog=EPILOG, short_help="Show which models call tools reliably.")
@click.argument("model", required=False)
@catalogue_option
@json_option
@reporting
def models_command(model: str | None, catalogues: tuple[Path, ...], as_machine: bool) -> int:
    """List models, whether we recommend them for tool calling, and the measured success rates.

    With MODEL: everything that the catalogue has about it, with its presets and sampling profiles.

    \b
    toolreel presets models
    toolreel presets models deepseek/deepseek-v3.2
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    collection = with_files(catalogues)
    models = [_known(collection, model)] if model else collection.models
    if as_machine:
        return say({"models": [_model(each) for each in models]})
    if model:
        _show_model(models[0])
        return 0
    show_columns(out, ("model", "for tools", "tool runs", "p95"), [_row(each) for each in models])
    out.print("next: toolreel presets models MODEL", style="dim")
    return 0


@click.command("sampling", epilog=EPILOG, short_help="Show the sampling profiles.")
@click.option("--model", metavar="MODEL", help="List only profiles for this model.")
@catalogue_option
@json_option
@reporting
def sampling_command(model: str | None, catalogues: tuple[Path, ...], as_machine: bool) -> int:
    """List the sampling profiles: their request options, and the models that they apply to."""
    collection = with_files(catalogues)
    profiles = collection.sampling_profiles(model) if model else collection.profiles
    if as_machine:
        return say({"sampling": [_profile(profile) for profile in profiles]})
    rows = [(each.name, ", ".join(each.applies_to) or "all", each.options) for each in profiles]
    show_columns(out, ("profile", "models", "options"), rows)
    return 0


def _known(collection: Presets, name: str) -> Model:
    found = collection.model(name)
    if found is None:
        raise ConfigError(unknown_name("model", name, [model.name for model in collection.models]))
    return found


def _row(model: Model) -> tuple[str, ...]:
    known = model.recommendation
    if known is None:
        return model.name, "-", "-", "-"
    return model.name, _VERDICTS[known.verdict], _runs(known.measured), _seconds(known.measured)


def _show_model(model: Model) -> None:
    labelled(out, "model", model.name)
    labelled(out, "provider", model.provider or "any")
    labelled(out, "presets", ", ".join(model.presets) or "none needed")
    known = model.recommendation
    if known is None:
        return
    labelled(out, "for tools", _VERDICTS[known.verdict])
    labelled(out, "sampling", ", ".join(known.profiles))
    best = known.measured
    day = f" on {known.measured_on}" if known.measured_on else ""
    labelled(out, "measured", f"{_runs(best)} tool runs, p95 {_seconds(best)}, with {best.profile}{day}")
    if known.note:
        labelled(out, "note", known.note)


def _runs(best: Measured) -> str:
    return f"{best.ok}/{best.runs} ({best.rate:.0%})"


def _seconds(best: Measured) -> str:
    return f"{best.p95_ms / 1000:.1f} s"


def _model(model: Model) -> dict[str, Json]:
    known = model.recommendation
    tree: dict[str, Json] = {
        "name": model.name,
        "patterns": [*model.patterns],
        "provider": model.provider,
        "presets": [*model.presets],
        "tags": [*model.tags],
    }
    if known is None:
        return tree
    best = known.measured
    recommendation: dict[str, Json] = {
        "verdict": known.verdict,
        "profiles": [*known.profiles],
        "best_profile": best.profile,
        "ok": best.ok,
        "runs": best.runs,
        "p95_ms": best.p95_ms,
        "measured_on": known.measured_on,
        "note": known.note,
    }
    return {**tree, "recommendation": recommendation}


def _profile(profile: SamplingProfile) -> dict[str, Json]:
    return {
        "name": profile.name,
        "applies_to": [*profile.applies_to],
        "tags": [*profile.tags],
        "options": parse(profile.options),
    }
