"""The public names of ``toolreel.evals``."""

from toolreel.evals._authoring.proof import Proof, ScriptProof, proof_of
from toolreel.evals._replay.inspect_log import write_inspect_logs
from toolreel.evals._replay.regression_test import Promoted, promote
from toolreel.evals._replay.replay import Replayed, replays
from toolreel.evals._report.page import ReportContent, report_content, report_page
from toolreel.evals._runner.connection import Connection, connect, new_header
from toolreel.evals._runner.evaluation import EvaluationOutcome, ExistingRuns, Watcher, evaluate
from toolreel.evals._runner.joining import join_results
from toolreel.evals._runner.plan_loader import plan_of_header, planned, sharded
from toolreel.evals._scenario_files.files import read_scenarios, scenario
from toolreel.evals._store.results import Header, Results
from toolreel.evals._summary.comparison import Comparison, EvaluationSide, Side, compare, read_sides
from toolreel.evals._summary.plan_gates import check_gates, gates_of
from toolreel.evals._summary.summary_files import summary_of, write_summaries
from toolreel.evals._summary.summary_statistics import Findings, findings_of

__all__ = [
    "Comparison",
    "Connection",
    "EvaluationOutcome",
    "EvaluationSide",
    "ExistingRuns",
    "Findings",
    "Header",
    "Promoted",
    "Proof",
    "Replayed",
    "ReportContent",
    "Results",
    "ScriptProof",
    "Side",
    "Watcher",
    "check_gates",
    "compare",
    "connect",
    "evaluate",
    "findings_of",
    "gates_of",
    "join_results",
    "new_header",
    "plan_of_header",
    "planned",
    "promote",
    "proof_of",
    "read_scenarios",
    "read_sides",
    "replays",
    "report_content",
    "report_page",
    "scenario",
    "sharded",
    "summary_of",
    "write_inspect_logs",
    "write_summaries",
]
