"""What a probe has found, as text and as JSON; and its progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolreel._cli.output.console import complain, counted, err, labelled, out, show_columns
from toolreel._cli.output.errors import FAILED
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._probe.comparison import Compared
from toolreel_core._probe.finding import Finding, trees
from toolreel_core._probe.probing import Probing, StoppedWhy

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


class Progress:
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


def exit_code(probed: Probed) -> int:
    """1 if the probe stopped early, found no model or an unstable one."""
    return 0 if probed.stopped is None and probed.is_stable and _answers(probed) else FAILED


def _answers(probed: Probed) -> bool:
    """Whether a model answered in any form."""
    return any(each.key == "wire_form" for each in probed.settings) or not _asked_plain(probed)


def _asked_plain(probed: Probed) -> bool:
    return any(each.name == "plain" for each in probed.findings)


def show(probed: Probed, preset: Path | None, name: str, beside: Sequence[Compared] | None) -> None:
    """Print the findings, the preset and the comparison."""
    if probed.findings:
        head = ("finding", "verdict", "requests", "seen")
        show_columns(out, head, [_row(each) for each in probed.findings])
        out.print()
    for setting in probed.settings:
        if not setting.is_default:
            labelled(out, "setting", f"{setting.section}.{setting.key} = {canonical(setting.value)}")
    if not any(not each.is_default for each in probed.settings) and _answers(probed):
        labelled(out, "setting", "none: the defaults fit")
    if beside is not None:
        out.print()
        rows = [(each.standing, each.key, _value(each.preset), _value(each.probed)) for each in beside]
        show_columns(out, ("standing", "setting", name, "probed"), rows)
    if probed.record:
        out.print()
        labelled(out, "recording", str(probed.record))
    if preset:
        labelled(out, "preset", f"{preset}; use it with --preset {preset}")
    _warn(probed)


def _row(finding: Finding) -> tuple[str, str, str, str]:
    word = finding.word if finding.stable else ", ".join(f"{word} {n}x" for word, n in finding.words)
    first, last = finding.requests[0], finding.requests[-1]
    numbers = str(first) if first == last else f"{first}-{last}"
    if len(finding.requests) != last - first + 1:
        numbers = ", ".join(map(str, finding.requests))
    detail = finding.detail if len(finding.detail) <= _SHOWN else f"{finding.detail[: _SHOWN - 1]}…"
    return finding.name, str(word).replace("_", " "), numbers, detail


def _value(value: Json) -> str:
    return "-" if value is None else canonical(value)


def _warn(probed: Probed) -> None:
    if deciding := [each.name for each in probed.unstable if each.decides]:
        complain(
            f"the endpoint is not stable: the same request got different answers to {', '.join(deciding)}",
            hint="Nothing that hangs on these is set. Is there more than one server behind the URL? "
            "--repeat 5 tells more.",
        )
    if probed.stopped:
        answered = counted(len(probed.probing.tries), "answer")
        complain(f"stopped after {answered}: {probed.stopped.message}", hint=_HINTS[probed.stopped.why])
    elif not _answers(probed):
        plain = next(each for each in probed.findings if each.name == "plain")
        complain(
            f"no model answers there: {plain.detail}",
            hint="Check --model, --base-url and --api-prefix; toolreel asks BASE_URL/v1/chat/completions.",
        )


def shown_tree(probed: Probed, preset: Path | None, beside: Sequence[Compared] | None) -> dict[str, Json]:
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
