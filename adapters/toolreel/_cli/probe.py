"""``toolreel probe``: find the quirks of an endpoint, and write the preset that fits."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import complain, err, labelled, out, show_columns, withhold
from toolreel._cli.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel._cli.options import catalogue_option, model_option
from toolreel._cli.server_options import ServerChoice, server_options
from toolreel._internal import CassetteError, counted
from toolreel._secrets import shown_url
from toolreel.presets import preset_named, with_files
from toolreel_core._jsontext import Json, canonical
from toolreel_core._plan import Presets
from toolreel_core._probe import (
    REPEAT,
    Compared,
    Finding,
    Probing,
    Question,
    StoppedWhy,
    estimate,
    selected,
    trees,
)

if TYPE_CHECKING:
    from toolreel.probe import Probed


_HINTS: Final[dict[StoppedWhy, str]] = {
    "connect": "Is the server running, and is --base-url right?",
    "key": "Name the variable of the key with --api-key-env, and its header with --api-key-header.",
    "payment": "The account has no credit left.",
    "rate": "Run the same command later; what was answered is not asked again.",
    "silent": "The server does not answer; a slow one needs a longer --timeout.",
}
_SHOWN: Final = 90


@click.command("probe", epilog=EPILOG)
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
    type=click.IntRange(1, 20),
    default=REPEAT,
    show_default=True,
    metavar="N",
    help="How often a question is asked on which a setting hangs. A quirk that comes half of the time shows "
    "in 1 of 2 probes with 2, in 3 of 4 with 3, in 15 of 16 with 5.",
)
@click.option(
    "--record",
    metavar="NAME",
    help="Write NAME.yaml, the recording, and NAME.toml, the preset; by default probe--MODEL.",
)
@click.option("--overwrite", is_flag=True, help="Ask everything again, and replace the recording.")
@click.option("--replay", "replayed", metavar="FILE", help="Judge a recorded probe again; nothing is sent.")
@click.option(
    "--compare", metavar="NAME", help="Compare the findings with a shipped preset, or that of a provider."
)
@catalogue_option
@json_option
@reporting
def probe_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    model: str | None,
    server: ServerChoice,
    yes: bool,
    only: tuple[str, ...],
    repeat: int,
    record: str | None,
    overwrite: bool,
    replayed: str | None,
    compare: str | None,
    catalogues: tuple[Path, ...],
    as_machine: bool,
) -> int:
    """Ask a model up to fifty small questions, each about one quirk, and write the preset that fits.

    Without --yes it only shows what it would send, and what that costs. Stopped with Ctrl-C, the same command
    goes on where it was. Each finding names its requests in the recording.

    \b
    toolreel probe --base-url http://127.0.0.1:8080 --model qwen2.5 --yes
    toolreel run "Hello." --base-url http://127.0.0.1:8080 --model qwen2.5 \\
        --preset probe--qwen2.5.toml
    toolreel probe --replay probe--qwen2.5.yaml --compare llama_cpp

    It ends with 1 if the endpoint is not stable, no model answers, or the probe stopped early.
    """
    presets = with_files(catalogues)
    if replayed is not None:
        from toolreel.probe import replay_probe

        if server.base_url or model or yes or only or record or overwrite:
            raise click.UsageError(
                "--replay asks nobody: leave out all but --compare, --catalogue and --json"
            )
        path = Path(replayed)
        if not path.exists() and path.suffix != ".yaml":
            path = path.with_name(f"{path.name}.yaml")
        probed, preset_file = replay_probe(path), None
    else:
        if not (server.base_url and model):
            raise click.UsageError("say what to probe: --base-url URL and --model MODEL, or --replay FILE")
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
        name = record if record is not None else f"probe--{slug}"
        stem = name.removesuffix(".yaml").removesuffix(".toml")
        if not Path(stem).name:
            raise click.UsageError(
                f"--record: {name!r} names no file; write a path such as probes/local--qwen"
            )
        tape = Path(f"{stem}.yaml")
        if not yes:
            probing = Probing(model, selected(only), repeat)
            return _show_plan(server, probing, tape, presets, as_machine=as_machine)
        if overwrite:
            tape.unlink(missing_ok=True)
        probed = _send_probe(server, model, only, repeat, tape, quiet=as_machine)
        preset_file = tape.with_suffix(".toml") if probed.findings else None
        try:
            if preset_file:
                preset_file.write_text(probed.toml(), encoding="utf-8")
        except OSError as error:
            raise CassetteError(f"{preset_file}: cannot be written: {error.strerror}") from None
    beside = probed.compare(preset_named(presets, compare, probed.model)) if compare else None
    if as_machine:
        say(_findings_tree(probed, preset_file, beside))
    else:
        _show_findings(probed, preset_file, compare or "", beside)
    usable = _has_answers(probed) and _uncalled(probed) is None
    return 0 if probed.stopped is None and probed.is_stable and usable else FAILED


def _send_probe(
    server: ServerChoice, model: str, only: tuple[str, ...], repeat: int, record: Path, *, quiet: bool
) -> Probed:
    """Send the requests."""
    from toolreel.http import header_values
    from toolreel.probe import probe

    target, progress = server.target(), _Progress(quiet=quiet)
    withhold(target.secrets)
    if notice := target.key_notice:
        err.print(notice, style="yellow")
    try:
        return probe(
            target.base_url,
            model,
            record=record,
            only=only,
            repeat=repeat,
            api_key_env=server.api_key_env,
            api_prefix=server.api_prefix,
            headers=header_values(server.headers, os.environ),
            api_key_header=server.api_key_header,
            timeout=server.timeout,
            known_secrets=target.secrets,
            watch=progress,
        )
    except KeyboardInterrupt:
        kept = "the same command goes on from there" if record.exists() else "nothing was answered yet"
        err.print(f"{progress.answered} answers are kept; {kept}", style="yellow")
        raise


def _show_plan(
    server: ServerChoice, probing: Probing, record: Path, presets: Presets, *, as_machine: bool
) -> int:
    """Show what a probe would send, and what that costs, where the model's price is known at any provider."""
    from toolreel.http import checked_chat_url
    from toolreel.probe import earlier_answers

    url = checked_chat_url(server.base_url or "", server.api_prefix)
    cost = estimate(probing)
    prices = (presets.price(provider, probing.model) for provider in ("", *presets.providers))
    price = next((each for each in prices if each), None)
    at_most = price.cost(cost.prompt_tokens, cost.completion_tokens) if price else 0.0
    kept = earlier_answers(record, url, probing.model).left
    if as_machine:
        money: dict[str, Json] = {"cost": at_most, "currency": price.currency} if price else {}
        questions: list[Json] = [
            {
                "name": each.name,
                "group": each.group,
                "about": each.about,
                "times": _repetitions(probing, each),
            }
            for each in probing.questions
        ]
        tree: dict[str, Json] = {
            "url": shown_url(url),
            "model": probing.model,
            "questions": questions,
            "requests": cost.requests,
            "prompt_tokens": cost.prompt_tokens,
            "completion_tokens": cost.completion_tokens,
        }
        return say({**tree, **money, "recorded": kept, "record": str(record)})
    for group, asked in groupby(probing.questions, lambda each: each.group):
        for number, each in enumerate(asked):
            times = _repetitions(probing, each)
            often = f" ({times} times)" if times > 1 else ""
            if_needed = " (if needed)" if each.when else ""
            labelled(out, "" if number else group, f"{each.name:<26}{each.about}{often}{if_needed}")
    out.print()
    labelled(out, "server", shown_url(url))
    labelled(out, "requests", f"about {cost.requests}, one after another")
    tokens = f"{cost.prompt_tokens:,} of prompts, at most {cost.completion_tokens:,} of replies"
    labelled(out, "tokens", f"about {tokens}; up to 16 times the replies if the model thinks")
    if price is None:
        labelled(out, "cost", "unknown: no catalogue has a price of this model; a local model costs nothing")
    else:
        day = price.as_of or "an unknown day"
        labelled(out, "cost", f"at most {at_most:.4f} {price.currency} (prices of {day})")
    if kept:
        labelled(out, "recorded", f"{counted(kept, 'answer')} in {record}, not asked again")
    labelled(out, "files", f"{record}, {record.with_suffix('.toml')}")
    out.print("next: the same command with --yes", style="dim")
    return 0


def _repetitions(probing: Probing, question: Question) -> int:
    return probing.repeat if question.decides else 1


class _Progress:
    """Prints a line when a question is settled."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._last = ""
        self.answered = 0

    def __call__(self, probing: Probing) -> None:
        """Take note of an answer."""
        if len(probing.tries) == self.answered:
            return
        self.answered = len(probing.tries)
        name = probing.tries[-1].question
        if not self._quiet and name != self._last:
            err.print(f"{probing.sent:>4}  {name}", style="dim")
        self._last = name


def _has_answers(probed: Probed) -> bool:
    """Whether a model answered in any form."""
    return any(each.key == "wire_form" for each in probed.settings) or not any(
        each.name == "plain" for each in probed.findings
    )


def _uncalled(probed: Probed) -> Finding | None:
    """The answer to the question that asks for a call, if it had none that can be read."""
    asked = next((each for each in probed.findings if each.name == "tools"), None)
    return asked if asked and asked.stable and asked.word == "answered" else None


def _show_findings(probed: Probed, preset: Path | None, name: str, beside: Sequence[Compared] | None) -> None:
    """Print the findings, the preset and the comparison."""
    if probed.findings:
        head = ("finding", "verdict", "requests", "seen")
        show_columns(out, head, [_finding_row(each) for each in probed.findings])
        out.print()
    for setting in probed.settings:
        if not setting.is_default:
            labelled(out, "setting", f"{setting.section}.{setting.key} = {canonical(setting.value)}")
    if not any(not each.is_default for each in probed.settings) and _has_answers(probed):
        labelled(out, "setting", "none: the defaults fit")
    if beside is not None:
        out.print()
        rows = [
            (each.standing, each.key, _value_text(each.preset), _value_text(each.probed)) for each in beside
        ]
        show_columns(out, ("standing", "setting", name, "probed"), rows)
    if probed.record:
        out.print()
        labelled(out, "recording", str(probed.record))
    if preset:
        labelled(out, "preset", f"{preset}; use it with --preset {preset}")
    _warn_of_findings(probed)


def _finding_row(finding: Finding) -> tuple[str, str, str, str]:
    word = finding.word if finding.stable else ", ".join(f"{word} {n}x" for word, n in finding.words)
    first, last = finding.requests[0], finding.requests[-1]
    numbers = str(first) if first == last else f"{first}-{last}"
    if len(finding.requests) != last - first + 1:
        numbers = ", ".join(map(str, finding.requests))
    detail = finding.detail if len(finding.detail) <= _SHOWN else f"{finding.detail[: _SHOWN - 1]}…"
    return finding.name, str(word).replace("_", " "), numbers, detail


def _value_text(value: Json) -> str:
    return "-" if value is None else canonical(value)


def _warn_of_findings(probed: Probed) -> None:
    if deciding := [each.name for each in probed.unstable if each.decides]:
        complain(
            f"the endpoint is not stable: the same request got different answers to {', '.join(deciding)}",
            hint="Nothing that hangs on these is set. Is there more than one server behind the URL? "
            "--repeat 5 tells more.",
        )
    if probed.stopped:
        answered = counted(len(probed.probing.tries), "answer")
        complain(f"stopped after {answered}: {probed.stopped.message}", hint=_HINTS[probed.stopped.why])
    elif uncalled := _uncalled(probed):
        complain(
            f"asked for a call, the model made none that can be read: {uncalled.detail}",
            hint="No setting above changes that. If it is a call in a format of its own, a transform of "
            "responses can read it; else the model calls no tools.",
        )
    elif not _has_answers(probed):
        plain = next(each for each in probed.findings if each.name == "plain")
        complain(
            f"no model answers there: {plain.detail}",
            hint="Check --model, --base-url and --api-prefix; toolreel asks BASE_URL/v1/chat/completions.",
        )


def _findings_tree(probed: Probed, preset: Path | None, beside: Sequence[Compared] | None) -> dict[str, Json]:
    """Everything as JSON."""
    tree: dict[str, Json] = {
        "model": probed.model,
        "requests": probed.probing.sent,
        "stable": probed.is_stable,
        "stopped": {"why": probed.stopped.why, "message": probed.stopped.message} if probed.stopped else None,
        "findings": [*trees(probed.findings)],
        "settings": [
            {
                "key": f"{each.section}.{each.key}",
                "value": each.value,
                "default": each.is_default,
                "because": each.because,
            }
            for each in probed.settings
        ],
        "preset": probed.toml(),
        "record": str(probed.record) if probed.record else None,
        "preset_file": str(preset) if preset else None,
    }
    if beside is None:
        return tree
    rows: list[Json] = [
        {"key": each.key, "standing": each.standing, "preset": each.preset, "probed": each.probed}
        for each in beside
    ]
    return {**tree, "compared": rows}
