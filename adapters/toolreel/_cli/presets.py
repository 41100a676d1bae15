"""``toolreel presets``: show presets, models and sampling profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from toolreel._cli.console import labelled, out, show_columns
from toolreel._cli.errors import EPILOG, reporting
from toolreel._cli.options import catalogue_option
from toolreel.presets import preset_named, with_files
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText
from toolreel_core._plan import Change, Measured, Model, changes, differences

_VERDICTS: Final[Mapping[str, str]] = {
    "yes": "yes",
    "yes_for_tools": "yes, tools only",
    "conditional": "conditional",
    "no": "no",
}


@click.group("presets", invoke_without_command=True, epilog=EPILOG)
@catalogue_option
@click.pass_context
def presets_command(context: click.Context, catalogues: tuple[Path, ...]) -> None:
    """List the presets: tested settings for providers and models, with the evidence for each.

    \b
    toolreel presets
    toolreel presets show deepseek
    toolreel presets show openrouter/deepseek/deepseek-v3.2
    toolreel presets diff openrouter deepseek
    toolreel presets models
    """
    if context.invoked_subcommand is None:
        _list_presets(catalogues)
    elif catalogues:
        raise click.UsageError(f"put options after {context.invoked_subcommand}, not before it")


@reporting
def _list_presets(catalogues: tuple[Path, ...]) -> int:
    rows = [(each.name, each.verified_on or "-", each.about) for each in with_files(catalogues).presets]
    show_columns(out, ("preset", "verified", "about"), rows)
    out.print("next: toolreel presets show NAME", style="dim")
    return 0


@presets_command.command("show", epilog=EPILOG, short_help="Show every setting that a preset changes.")
@click.argument("name")
@catalogue_option
@reporting
def show_command(name: str, catalogues: tuple[Path, ...]) -> int:
    """Show every setting that a preset changes, its default, and why.

    NAME is the name of a preset, or PROVIDER/MODEL for all presets that apply to a model there.

    \b
    toolreel presets show deepseek
    toolreel presets show openrouter/deepseek/deepseek-v3.2
    """
    preset = preset_named(with_files(catalogues), name)
    labelled(out, "preset", preset.name)
    labelled(out, "about", preset.about)
    labelled(out, "verified", preset.verified_on or "-")
    _show_changes(changes(preset))
    for number, source in enumerate(preset.evidence):
        labelled(out, "" if number else "evidence", source)
    return 0


@presets_command.command("diff", epilog=EPILOG, short_help="Show the settings in which two presets differ.")
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@catalogue_option
@reporting
def presets_diff_command(one: str, other: str, catalogues: tuple[Path, ...]) -> int:
    """Show the settings that differ between A and B, defaults included.

    Each is the name of a preset, or PROVIDER/MODEL.

    \b
    toolreel presets diff openrouter deepseek
    """
    collection = with_files(catalogues)
    found = differences(preset_named(collection, one), preset_named(collection, other))
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


@presets_command.command("models", epilog=EPILOG, short_help="Show which models call tools reliably.")
@click.argument("model", required=False)
@catalogue_option
@reporting
def models_command(model: str | None, catalogues: tuple[Path, ...]) -> int:
    """List models, whether we recommend them for tool calling, and the measured success rates.

    With MODEL: everything that the catalogue has about it, with its presets and sampling profiles.

    \b
    toolreel presets models
    toolreel presets models deepseek/deepseek-v3.2
    """
    collection = with_files(catalogues)
    if model:
        found = collection.model(model)
        if found is None:
            raise ConfigError(unknown_name("model", model, [each.name for each in collection.models]))
        _show_model(found)
        return 0
    rows = [
        (each.name, "-", "-", "-")
        if (known := each.recommendation) is None
        else (each.name, _VERDICTS[known.verdict], *_figures(known.measured))
        for each in collection.models
    ]
    show_columns(out, ("model", "for tools", "tool runs", "p95"), rows)
    out.print("next: toolreel presets models MODEL", style="dim")
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
    (runs, p95), day = _figures(known.measured), f" on {known.measured_on}" if known.measured_on else ""
    labelled(out, "measured", f"{runs} tool runs, p95 {p95}, with {known.measured.profile}{day}")
    if known.note:
        labelled(out, "note", known.note)


def _figures(best: Measured) -> tuple[str, str]:
    return f"{best.ok}/{best.runs} ({best.rate:.0%})", f"{best.p95_ms / 1000:.1f} s"


@presets_command.command("sampling", epilog=EPILOG, short_help="Show the sampling profiles.")
@catalogue_option
@reporting
def sampling_command(catalogues: tuple[Path, ...]) -> int:
    """List the sampling profiles: the models that they apply to, and their request options.

    \b
    toolreel presets sampling
    """
    profiles = with_files(catalogues).profiles
    rows = [(each.name, ", ".join(each.applies_to) or "all", each.options) for each in profiles]
    show_columns(out, ("profile", "models", "options"), rows)
    return 0
