"""``toolreel presets``: show presets, models and sampling profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from toolreel._cli.console import labelled, out, show_columns
from toolreel._cli.errors import EPILOG, json_option, reporting, say
from toolreel._cli.options import catalogue_option, provider_option
from toolreel.presets import at_provider, preset_named, with_files
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, parse
from toolreel_core._plan import (
    Change,
    Measured,
    Model,
    Preset,
    changes,
    differences,
)

_VERDICTS: Final[Mapping[str, str]] = {
    "yes": "yes",
    "yes_for_tools": "yes, tools only",
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
    """
    collection = with_files(catalogues)
    models: Sequence[Model] = collection.models
    if model:
        found = collection.model(model)
        if found is None:
            raise ConfigError(unknown_name("model", model, [each.name for each in models]))
        models = [found]
    if as_machine:
        return say({"models": [_model_tree(each) for each in models]})
    if model:
        _show_model(models[0])
        return 0
    rows = [
        (each.name, "-", "-", "-")
        if (known := each.recommendation) is None
        else (each.name, _VERDICTS[known.verdict], _run_counts(known.measured), _seconds_text(known.measured))
        for each in models
    ]
    show_columns(out, ("model", "for tools", "tool runs", "p95"), rows)
    out.print("next: toolreel presets models MODEL", style="dim")
    return 0


@click.command("sampling", epilog=EPILOG, short_help="Show the sampling profiles.")
@click.option("--model", metavar="MODEL", help="List only profiles for this model.")
@catalogue_option
@json_option
@reporting
def sampling_command(model: str | None, catalogues: tuple[Path, ...], as_machine: bool) -> int:
    """List the sampling profiles: their request options, and the models that they apply to.

    \b
    toolreel presets sampling --model deepseek/deepseek-v3.2
    """
    collection = with_files(catalogues)
    profiles = collection.sampling_profiles(model) if model else collection.profiles
    if as_machine:
        trees: list[Json] = [
            {
                "name": each.name,
                "applies_to": [*each.applies_to],
                "tags": [*each.tags],
                "options": parse(each.options),
            }
            for each in profiles
        ]
        return say({"sampling": trees})
    rows = [(each.name, ", ".join(each.applies_to) or "all", each.options) for each in profiles]
    show_columns(out, ("profile", "models", "options"), rows)
    return 0


def _show_model(model: Model) -> None:
    labelled(out, "model", model.name)
    labelled(out, "provider", model.provider or "any")
    labelled(out, "presets", ", ".join(model.presets) or "none needed")
    for provider, presets in model.presets_by_provider:
        labelled(out, "", f"{', '.join(presets)} at {provider}")
    known = model.recommendation
    if known is None:
        return
    labelled(out, "for tools", _VERDICTS[known.verdict])
    labelled(out, "sampling", ", ".join(known.profiles))
    best = known.measured
    day = f" on {known.measured_on}" if known.measured_on else ""
    labelled(
        out, "measured", f"{_run_counts(best)} tool runs, p95 {_seconds_text(best)}, with {best.profile}{day}"
    )
    if known.note:
        labelled(out, "note", known.note)


def _run_counts(best: Measured) -> str:
    return f"{best.ok}/{best.runs} ({best.rate:.0%})"


def _seconds_text(best: Measured) -> str:
    return f"{best.p95_ms / 1000:.1f} s"


def _model_tree(model: Model) -> dict[str, Json]:
    known = model.recommendation
    tree: dict[str, Json] = {
        "name": model.name,
        "patterns": [*model.patterns],
        "provider": model.provider,
        "presets": [*model.presets],
        "tags": [*model.tags],
    }
    if model.presets_by_provider:
        tree["presets_by_provider"] = {key: [*presets] for key, presets in model.presets_by_provider}
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


@click.group("presets", invoke_without_command=True, epilog=EPILOG)
@catalogue_option
@json_option
@click.pass_context
def presets_command(context: click.Context, catalogues: tuple[Path, ...], as_machine: bool) -> None:
    """List the presets: tested settings for providers and models, with the evidence for each.

    \b
    toolreel presets
    toolreel presets show deepseek
    toolreel presets show openrouter/deepseek/deepseek-v3.2
    toolreel presets diff openrouter deepseek
    toolreel presets models
    """
    if context.invoked_subcommand is None:
        _list_presets(catalogues, as_machine)
    elif catalogues or as_machine:
        raise click.UsageError(f"put options after {context.invoked_subcommand}, not before it")


presets_command.add_command(models_command)
presets_command.add_command(sampling_command)


@reporting
def _list_presets(catalogues: tuple[Path, ...], as_machine: bool) -> int:
    presets = with_files(catalogues).presets
    if as_machine:
        return say({"presets": [_preset_tree(preset) for preset in presets]})
    rows = [(preset.name, preset.verified_on or "-", preset.about) for preset in presets]
    show_columns(out, ("preset", "verified", "about"), rows)
    out.print("next: toolreel presets show NAME", style="dim")
    return 0


@presets_command.command("show", epilog=EPILOG, short_help="Show every setting that a preset changes.")
@click.argument("name", required=False)
@provider_option
@click.option("--model", metavar="MODEL", help="Add the workarounds for a model; needs --provider.")
@catalogue_option
@json_option
@reporting
def show_command(
    name: str | None,
    provider: str | None,
    model: str | None,
    catalogues: tuple[Path, ...],
    as_machine: bool,
) -> int:
    """Show every setting that a preset changes, its default, and why.

    NAME is the name of a preset, or PROVIDER/MODEL for all presets that apply to a model there.

    \b
    toolreel presets show deepseek
    toolreel presets show --provider openrouter --model deepseek/deepseek-v3.2
    """
    if model and not provider:
        raise click.UsageError("--model needs --provider, because workarounds depend on where a model runs")
    if not name and not provider:
        raise click.UsageError("name a preset: NAME, or --provider")
    collection = with_files(catalogues)
    preset = at_provider(collection, provider, model or "")
    preset = preset.merged(preset_named(collection, name)) if name else preset
    if as_machine:
        found: list[Json] = [_change_tree(change, "default", "value") for change in changes(preset)]
        return say({**_preset_tree(preset), "evidence": [*preset.evidence], "changes": found})
    labelled(out, "preset", preset.name)
    labelled(out, "about", preset.about)
    labelled(out, "verified", preset.verified_on or "-")
    _show_changes(changes(preset))
    for source in preset.evidence:
        labelled(out, "evidence" if source == preset.evidence[0] else "", source)
    return 0


@presets_command.command("diff", epilog=EPILOG, short_help="Show the settings in which two presets differ.")
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@catalogue_option
@json_option
@reporting
def presets_diff_command(one: str, other: str, catalogues: tuple[Path, ...], as_machine: bool) -> int:
    """Show the settings that differ between A and B, defaults included.

    Each is the name of a preset, or PROVIDER/MODEL.

    \b
    toolreel presets diff openrouter deepseek
    """
    collection = with_files(catalogues)
    found = differences(preset_named(collection, one), preset_named(collection, other))
    if as_machine:
        return say(
            {"a": one, "b": other, "differences": [_change_tree(change, "a", "b") for change in found]}
        )
    _show_changes(found)
    if not found:
        out.print(f"{one} and {other} have the same settings")
    return 0


def _show_changes(found: Sequence[Change]) -> None:
    for change in found:
        out.print(change.key, style="bold blue")
        same = change.before == change.after
        values = "the default, " if same else f"{_display_value(change.before)} → "
        labelled(out, "", values + _display_value(change.after))
        if change.because:
            labelled(out, "", change.because, "dim")


def _display_value(value: JsonText | None) -> str:
    """A value for display; a limit of ``null`` is off."""
    return "not sent" if value is None else "off" if value == "null" else value


def _change_tree(change: Change, before: str, after: str) -> dict[str, Json]:
    """A change as JSON, without keys for values that are not sent."""
    values = ((before, change.before), (after, change.after))
    sent = {name: parse(value) for name, value in values if value is not None}
    return {"key": change.key, **sent, "because": change.because}


def _preset_tree(preset: Preset) -> dict[str, Json]:
    return {
        "name": preset.name,
        "about": preset.about,
        "verified_on": preset.verified_on,
        "defaults_for": [*preset.defaults_for],
    }
