"""The command line."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._cli.evals.group import eval_command
    from toolreel._cli.evals.run import run_command
    from toolreel._cli.evals.scenario import check_command, from_command, new_command
    from toolreel._cli.evals.summarize import compare_command, report_command, summarize_command
    from toolreel._cli.live_run import LiveSession
    from toolreel._cli.main import LazyCommand, toolreel
    from toolreel._cli.options import NO_PRESETS, OPTIONS, LiveTarget, parse_settings
    from toolreel._cli.recordings import explain_command, export_command, view_command
    from toolreel._cli.whole_run import EndedRun, run_as_json
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
