"""``toolreel presets`` and ``toolreel probe``: presets, their evidence, and one for an unknown endpoint."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import complain, err, out, print_labelled, show_columns, withhold_secrets
from toolreel._cli.errors import EPILOG, FAILED, command, with_error_reporting
from toolreel._cli.options import LiveTarget, Texts, model_option, overwrite_option, server_options
from toolreel._cli.run_options import cassette_path_from_name
from toolreel._internal import CassetteError, count_with_noun
from toolreel._replay import shorten_line
from toolreel._secrets import url_safe_to_log
from toolreel.presets import preset_named, with_files
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._plan import Presets, preset_changes
from toolreel_core._probe import (
    MOST_REPEATS,
    REPEAT,
    Finding,
    Probing,
    Why,
    estimate_remaining_cost,
    select_questions,
)

if TYPE_CHECKING:
    from toolreel.probe import Probed


@click.group("presets", invoke_without_command=True, epilog=EPILOG)
@click.pass_context
def presets_command(context: click.Context) -> None:
    """List the presets: tested settings for providers and models, with the evidence for each.

    \b
    toolreel presets
    toolreel presets show deepseek
    toolreel presets show openrouter/deepseek/deepseek-v3.2
    toolreel presets models
    """
    if context.invoked_subcommand is None:
        _list_presets()


@with_error_reporting
def _list_presets() -> int:
    rows = [(each.name, each.verified_on or "-", each.about) for each in with_files().presets]
    show_columns(("preset", "verified", "about"), rows)
    out.print("next: toolreel presets show NAME", style="dim")
    return 0


@command("show", short_help="Show every setting that a preset changes.")
@click.argument("name")
def show_command(name: str) -> int:
    """Show every setting that a preset changes, its default, and why.

    NAME is the name of a preset, or PROVIDER/MODEL for all presets that apply to a model there.

    \b
    toolreel presets show deepseek
    toolreel presets show openrouter/deepseek/deepseek-v3.2
    """
    preset = preset_named(with_files(), name)
    print_labelled("preset", preset.name)
    print_labelled("about", preset.about)
    print_labelled("verified", preset.verified_on or "-")
    for change in preset_changes(preset):
        out.print(change.key, style="bold blue")
        same = change.before == change.after
        values = "the default, " if same else f"{_display_value(change.before)} → "
        print_labelled("", values + _display_value(change.after))
        if change.because:
            print_labelled("", change.because, "dim")
    for number, source in enumerate(preset.evidence):
        print_labelled("" if number else "evidence", source)
    return 0


def _display_value(value: JsonText | None) -> str:
    return "not sent" if value is None else "off" if value == "null" else value


@command("models", short_help="Show which models call tools reliably.")
def models_command() -> int:
    """List models, whether we recommend them for tool calling, and the measured success rates.

    \b
    toolreel presets models
    toolreel presets show openrouter/deepseek/deepseek-v3.2
    """
    rows = []
    for model in with_files().models:
        known = model.recommendation
        figures = ("-", "-", "-")
        if known:
            rate = f"{known.ok}/{known.runs} ({known.rate:.0%})"
            figures = (known.verdict.replace("_", " "), rate, f"{known.p95_ms / 1000:.1f} s")
        rows.append((model.name, *figures))
    show_columns(("model", "for tools", "tool runs", "p95"), rows)
    out.print("next: toolreel presets show PROVIDER/MODEL", style="dim")
    return 0


@command("sampling", short_help="Show the sampling profiles.")
def sampling_command() -> int:
    """List the sampling profiles: the models that they apply to, and their request options.

    \b
    toolreel presets sampling
    """
    profiles = with_files().profiles
    rows = [(each.name, ", ".join(each.applies_to) or "all", each.options) for each in profiles]
    show_columns(("profile", "models", "options"), rows)
    return 0


for _each in (show_command, models_command, sampling_command):
    presets_command.add_command(_each)


# ``toolreel probe``: find the quirks of an endpoint, and write the preset that fits.


_HINTS: dict[Why, str] = {
    "connect": "Is the server running, and is --base-url right?",
    "key": "Name the variable of the key with --api-key-env, and its header with --api-key-header.",
    "payment": "The account has no credit left.",
    "rate": "Run the same command later, with --overwrite.",
    "silent": "The server does not answer; a slow one needs a longer --timeout.",
}
_SHOWN = 90
"""Characters of what was seen, in the table of findings."""


@command("probe")
@model_option(required=False)
@server_options(required=False, fallbacks=False, seconds=60.0)
@click.option("--yes", is_flag=True, help="Send the requests; without it, they are only shown and priced.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Ask only this question or this group, with those that it rests on. Repeatable.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, MOST_REPEATS),
    default=REPEAT,
    metavar="N",
    help="How often a question is asked on which a setting hangs. A quirk that comes half of the time shows "
    "in 1 of 2 probes with 2, in 3 of 4 with 3, in 15 of 16 with 5.",
)
@click.option(
    "--record",
    metavar="NAME",
    help="Write NAME.yaml, the recording, and NAME.toml, the preset; by default probe--MODEL.",
)
@overwrite_option("Ask everything again, and replace the recording.")
@click.option("--replay", "replayed", metavar="FILE", help="Judge a recorded probe again; nothing is sent.")
@click.option(
    "--compare", metavar="NAME", help="Compare the findings with a shipped preset, or that of a provider."
)
def probe_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    model: str | None,
    server: LiveTarget,
    yes: bool,
    only: Texts,
    repeat: int,
    record: str | None,
    overwrite: bool,
    replayed: str | None,
    compare: str | None,
) -> int:
    """Ask a model up to fifty small questions, each about one quirk, and write the preset that fits.

    Without --yes it only shows what it would send, and what that costs. Each finding names its requests in
    the recording.

    \b
    toolreel probe --base-url http://127.0.0.1:8080 --model qwen2.5 --yes
    toolreel run "Hello." --base-url http://127.0.0.1:8080 --model qwen2.5 \\
        --preset probe--qwen2.5.toml
    toolreel probe --replay probe--qwen2.5.yaml --compare llama_cpp

    It ends with 1 if the endpoint is not stable, no model answers, or the probe stopped early.
    """
    presets = with_files()
    if replayed is not None:
        from toolreel.probe import replay_probe

        if server.base_url or model or yes or only or record or overwrite:
            raise click.UsageError("--replay asks nobody: leave out all but --compare")
        probed, preset_file = replay_probe(cassette_path_from_name(replayed) or replayed), None
    else:
        if not (server.base_url and model):
            raise click.UsageError("say what to probe: --base-url URL and --model MODEL, or --replay FILE")
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
        tape = cassette_path_from_name(record) or Path(f"probe--{slug}.yaml")
        if not yes:
            from toolreel.probe import all_questions

            questions = select_questions(all_questions(), only)
            return _show_plan(server, Probing(model, questions, repeat), tape, presets)
        if overwrite:
            tape.unlink(missing_ok=True)
        probed = _probe_server(server, model, only, repeat, tape)
        preset_file = tape.with_suffix(".toml") if probed.findings else None
        try:
            if preset_file:
                preset_file.write_text(probed.toml(), encoding="utf-8")
        except OSError as error:
            raise CassetteError(f"{preset_file}: cannot be written: {error.strerror}") from None
    _show_findings(probed)
    if compare:
        rows = [
            (each.standing, each.key, _value_text(each.preset), _value_text(each.probed))
            for each in probed.compare(preset_named(presets, compare, probed.model))
        ]
        out.print()
        show_columns(("standing", "setting", compare, "probed"), rows)
    if probed.record:
        out.print()
        print_labelled("recording", str(probed.record))
    if preset_file:
        print_labelled("preset", f"{preset_file}; use it with --preset {preset_file}")
    return FAILED if _warn_of_findings(probed) else 0


def _probe_server(server: LiveTarget, model: str, only: Texts, repeat: int, record: Path) -> Probed:
    from toolreel.probe import probe

    withhold_secrets(secrets := server.secrets)
    if notice := server.key_notice:
        err.print(notice, style="yellow")

    def watch(probing: Probing) -> None:
        if probing.tries:
            err.print(f"{probing.sent:>4}  {probing.tries[-1].question}", style="dim")

    return probe(
        **server.endpoint_arguments,
        model=model,
        record=record,
        only=only,
        repeat=repeat,
        timeout=server.timeout,
        known_secrets=secrets,
        watch=watch,
    )


def _show_plan(server: LiveTarget, probing: Probing, record: Path, presets: Presets) -> int:
    """Show what a probe would send, and what that costs, where the model's price is known at any provider."""
    from toolreel.http import checked_chat_url

    url = checked_chat_url(server.base_url or "", server.api_prefix)
    cost = estimate_remaining_cost(probing)
    prices = (presets.price(provider, probing.model) for provider in ("", *presets.providers))
    price = next((each for each in prices if each), None)
    for group, asked in groupby(probing.questions, lambda each: each.group):
        for number, each in enumerate(asked):
            often = f" ({probing.repeat} times)" if each.decides and probing.repeat > 1 else ""
            if_needed = " (if needed)" if each.when else ""
            print_labelled("" if number else group, f"{each.name:<26}{each.about}{often}{if_needed}")
    out.print()
    print_labelled("server", url_safe_to_log(url))
    print_labelled("requests", f"about {cost.requests}, one after another")
    tokens = f"{cost.prompt_tokens:,} of prompts, at most {cost.completion_tokens:,} of replies"
    print_labelled("tokens", f"about {tokens}; up to 16 times the replies if the model thinks")
    if price is None:
        print_labelled("cost", "unknown: no catalogue has a price of this model; a local model costs nothing")
    else:
        day = price.as_of or "an unknown day"
        at_most = price.cost(cost.prompt_tokens, cost.completion_tokens)
        print_labelled("cost", f"at most {at_most:.4f} {price.currency} (prices of {day})")
    print_labelled("files", f"{record}, {record.with_suffix('.toml')}")
    out.print("next: the same command with --yes", style="dim")
    return 0


def _has_answers(probed: Probed) -> bool:
    return any(each.key == "wire_form" for each in probed.settings) or not any(
        each.name == "plain" for each in probed.findings
    )


def _show_findings(probed: Probed) -> None:
    if probed.findings:
        head = ("finding", "verdict", "requests", "seen")
        show_columns(head, [_finding_row(each) for each in probed.findings])
        out.print()
    settings = [each for each in probed.settings if not each.is_default]
    for setting in settings:
        print_labelled("setting", f"{setting.section}.{setting.key} = {canonical(setting.value)}")
    if not settings and _has_answers(probed):
        print_labelled("setting", "none: the defaults fit")


def _finding_row(finding: Finding) -> tuple[str, str, str, str]:
    word = finding.word if finding.is_stable else ", ".join(f"{word} {n}x" for word, n in finding.words)
    numbers = ", ".join(map(str, finding.requests))
    return finding.name, str(word).replace("_", " "), numbers, shorten_line(finding.detail, _SHOWN)


def _value_text(value: Json) -> str:
    return "-" if value is None else canonical(value)


def _warn_of_findings(probed: Probed) -> bool:
    deciding = [each.name for each in probed.unstable if each.decides]
    if deciding:
        complain(
            f"the endpoint is not stable: the same request got different answers to {', '.join(deciding)}",
            hint="Nothing that hangs on these is set. Is there more than one server behind the URL? "
            "--repeat 5 tells more.",
        )
    by_name = {each.name: each for each in probed.findings}
    tools = by_name.get("tools")
    if probed.stopped:
        answered = count_with_noun(len(probed.probing.tries), "answer")
        complain(f"stopped after {answered}: {probed.stopped.message}", hint=_HINTS[probed.stopped.why])
    elif tools and tools.is_stable and tools.word == "answered":
        complain(
            f"asked for a call, the model made none that can be read: {tools.detail}",
            hint="A transform of responses can read a format of its own; else the model calls no tools.",
        )
    elif not _has_answers(probed):
        complain(
            f"no model answers there: {by_name['plain'].detail}",
            hint="Check --model, --base-url and --api-prefix; toolreel asks BASE_URL/v1/chat/completions.",
        )
    else:
        return bool(deciding)
    return True
