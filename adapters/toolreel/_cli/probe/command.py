"""``toolreel probe``: find the quirks of an endpoint, and write the preset that fits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.options.option_bundle import bundle
from toolreel._cli.options.presets import catalogue_option, preset_of_provider_or_name
from toolreel._cli.options.server import API_KEY_HEADER_HELP, header_option
from toolreel._cli.output.console import err, withhold
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._internal.errors import CassetteError
from toolreel.presets._catalogues import with_files
from toolreel_core._plan.presets.collection import Presets
from toolreel_core._settings.chat_url import API_PREFIX

if TYPE_CHECKING:
    from toolreel._cli.live.live_target import LiveTarget
    from toolreel.probe import Probed

_REPEAT = 3
"""``toolreel_core._probe.probing.REPEAT``, which --help does not import."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the server is asked."""

    api_prefix: str
    api_key_env: str | None
    api_key_header: str
    headers: Mapping[str, str]


_server_options = bundle(
    "server",
    ServerOptions,
    click.option(
        "--api-prefix",
        default=API_PREFIX,
        show_default=True,
        metavar="PATH",
        help='Appended to a URL without a version; "" for none.',
    ),
    click.option(
        "--api-key-env", metavar="VAR", help="Name of the environment variable that holds the API key."
    ),
    click.option(
        "--api-key-header",
        default="Authorization",
        show_default=True,
        metavar="NAME",
        help=API_KEY_HEADER_HELP,
    ),
    header_option("headers"),
)


@click.command("probe", epilog=EPILOG, short_help="Find an endpoint's quirks, and write its preset.")
@click.option("--base-url", metavar="URL", help="URL of the server, such as http://127.0.0.1:8080.")
@click.option("--model", metavar="MODEL", help="Model name, as the server lists it.")
@_server_options
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
    default=_REPEAT,
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
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for one reply.",
)
@catalogue_option
@json_option
@reporting
def probe_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    base_url: str | None,
    model: str | None,
    server: ServerOptions,
    yes: bool,
    only: tuple[str, ...],
    repeat: int,
    record: str | None,
    overwrite: bool,
    replayed: str | None,
    compare: str | None,
    timeout: float,
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

    It ends with 1 if the endpoint is not stable, or if the probe stopped early.
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.probe.report import exit_code, show, shown_tree

    presets = with_files(catalogues)
    if replayed is not None:
        from toolreel.probe import replay_probe

        if base_url or model or yes or only or record or overwrite:
            raise click.UsageError(
                "--replay asks nobody: leave out all but --compare, --catalogue and --json"
            )
        probed, preset_file = replay_probe(_recording(replayed)), None
    else:
        if not (base_url and model):
            raise click.UsageError("say what to probe: --base-url URL and --model MODEL, or --replay FILE")
        asked = _Asked(base_url, model, server, only, repeat, _files(record, model), timeout)
        if not yes:
            return asked.show_plan(presets, as_machine=as_machine)
        if overwrite:
            asked.record.unlink(missing_ok=True)
        probed = asked.probe(quiet=as_machine)
        preset_file = asked.record.with_suffix(".toml") if probed.findings else None
        _write(preset_file, probed)
    beside = probed.compare(preset_of_provider_or_name(presets, compare, probed.model)) if compare else None
    if as_machine:
        say(shown_tree(probed, preset_file, beside))
    else:
        show(probed, preset_file, compare or "", beside)
    return exit_code(probed)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A probe as it was asked for."""

    base_url: str
    model: str
    server: ServerOptions
    only: tuple[str, ...]
    repeat: int
    record: Path
    timeout: float

    @property
    def target(self) -> LiveTarget:
        """The server."""
        from toolreel._cli.live.live_target import LiveTarget

        return LiveTarget(
            self.base_url,
            self.server.api_key_env,
            self.timeout,
            api_prefix=self.server.api_prefix,
            headers=self.server.headers,
            api_key_header=self.server.api_key_header,
        )

    def show_plan(self, presets: Presets, *, as_machine: bool) -> int:
        """Show what would be sent, and what it costs."""
        from toolreel._cli.probe.plan import Planned
        from toolreel.http._request import checked_chat_url

        url = checked_chat_url(self.base_url, self.server.api_prefix)
        planned = Planned.of(url, self.model, self.only, self.repeat, self.record, presets)
        if as_machine:
            return say(planned.tree())
        planned.show()
        return 0

    def probe(self, *, quiet: bool) -> Probed:
        """Send the requests."""
        import os

        from toolreel._cli.probe.report import Progress
        from toolreel.http._request import header_values
        from toolreel.probe import probe

        secrets = self.target.secrets
        withhold(secrets)
        if notice := self.target.key_notice:
            err.print(notice, style="yellow")
        progress = Progress(quiet=quiet)
        try:
            return probe(
                self.base_url,
                self.model,
                record=self.record,
                only=self.only,
                repeat=self.repeat,
                api_key_env=self.server.api_key_env,
                api_prefix=self.server.api_prefix,
                headers=header_values(self.server.headers, os.environ),
                api_key_header=self.server.api_key_header,
                timeout=self.timeout,
                known_secrets=secrets,
                watch=progress,
            )
        except KeyboardInterrupt:
            kept = (
                "the same command goes on from there" if self.record.exists() else "nothing was answered yet"
            )
            err.print(f"{progress.answered} answers are kept; {kept}", style="yellow")
            raise


def _files(record: str | None, model: str) -> Path:
    """The path of the recording."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
    name = record if record is not None else f"probe--{slug}"
    stem = name.removesuffix(".yaml").removesuffix(".toml")
    if not Path(stem).name:
        raise click.UsageError(f"--record: {name!r} names no file; write a path such as probes/local--qwen")
    return Path(f"{stem}.yaml")


def _recording(name: str) -> Path:
    path = Path(name)
    return path if path.exists() or path.suffix == ".yaml" else path.with_name(f"{path.name}.yaml")


def _write(path: Path | None, probed: Probed) -> None:
    """Write the preset.

    :raises CassetteError: if the file cannot be written
    """
    if path is None:
        return
    try:
        path.write_text(probed.toml(), encoding="utf-8")
    except OSError as error:
        raise CassetteError(f"{path}: cannot be written: {error.strerror}") from None
