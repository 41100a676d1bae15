"""Evaluations: measure how reliably models call tools, with intervals and tests.

::

    from pathlib import Path
    from toolreel.evals import Results, check_gates, evaluate, gates_of, planned, write_summaries

    plan = planned(Path("evaluation.toml"))
    outcome = evaluate(plan, Path("results"))  # call it again to resume
    summary = write_summaries(Results.open("results"), plan)
    for result in check_gates(gates_of(plan), summary, plan):
        print(result.standing, result.sentence)

``report_page(report_content(results))`` renders the HTML report, ``read_sides`` and ``compare`` compare two
evaluations, ``replays`` repeats recorded runs offline. The pure part (scenarios, plans, verdicts, summaries)
is ``toolreel_core.evals``. Statistics need the extra ``toolreel[evals]``, the page ``toolreel[report]``.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.evals._authoring.proof import Proof, ScriptProof, proof_of, sentences
    from toolreel.evals._authoring.scenario_of_session import draft_of, name_of, read_session
    from toolreel.evals._authoring.template import template, write_new, write_template
    from toolreel.evals._authoring.toml_text import has_null, scenario_text
    from toolreel.evals._replay.bisect import RunFilter, bisected, with_only
    from toolreel.evals._replay.inspect_log import write_inspect_logs
    from toolreel.evals._replay.regression_test import Promoted, find_run, promote
    from toolreel.evals._replay.replay import Replayed, replays, rerun, write_replayed
    from toolreel.evals._replay.whatif import tallies_under, whatif_lines, whatif_tree
    from toolreel.evals._report.page import ReportContent, report_content, report_page
    from toolreel.evals._report.run_data import run_data
    from toolreel.evals._report.transcripts import transcript_of
    from toolreel.evals._runner.connection import Connection, connect, limits, new_header
    from toolreel.evals._runner.endpoints import ScriptedEndpoint
    from toolreel.evals._runner.evaluation import (
        EvaluationOutcome,
        ExistingRuns,
        JobEnded,
        Watcher,
        WorkerPool,
        evaluate,
        jobs_of,
        server_of,
    )
    from toolreel.evals._runner.exchanges import WorldHost
    from toolreel.evals._runner.joining import join_results
    from toolreel.evals._runner.plan_loader import plan_of_header, planned, sharded
    from toolreel.evals._runner.scenario_files import read_scenarios, read_toml_scenario, scenario
    from toolreel.evals._runner.spending import Spent
    from toolreel.evals._runner.trial import RunContext, run_job
    from toolreel.evals._statistics.interval_bounds import (
        cluster_mean_below,
        cluster_mean_bounds,
        two_way_mean_below,
        two_way_mean_bounds,
        wilson_bounds,
    )
    from toolreel.evals._statistics.intervals import CellRate, Clustered, clustered_rate, methods_of, wilson
    from toolreel.evals._statistics.side_differences import (
        clusterings,
        compare_scenarios,
        compare_trials,
        scenarios_p,
        stratified_bounds,
    )
    from toolreel.evals._statistics.significance_tests import (
        adjusted,
        flips_p,
        holm,
        mcnemar_p,
        permutation_p,
    )
    from toolreel.evals._store.configuration_differences import (
        StrategyDifference,
        configuration_under,
        strategy_differences,
    )
    from toolreel.evals._store.recordings import recording_of
    from toolreel.evals._store.results import (
        Header,
        Journal,
        Results,
        all_records,
        read_header,
        schema_of,
        write_atomically,
        write_json,
    )
    from toolreel.evals._summary.comparison import Comparison, EvaluationSide, Side, compare, read_sides
    from toolreel.evals._summary.comparison_gates import GateOption, check_gate_options
    from toolreel.evals._summary.plan_changes import LATER, plan_changes, with_lateness
    from toolreel.evals._summary.plan_gates import check_gates, gate_warnings, gates_of, values_of
    from toolreel.evals._summary.planned_power import (
        cluster_deviation,
        detectable,
        flips_power,
        planned_power,
    )
    from toolreel.evals._summary.summary_files import (
        BY_SCENARIO,
        BY_STRATEGY,
        SUMMARY,
        summary_of,
        summary_trees,
        write_summaries,
        write_trees,
    )
    from toolreel.evals._summary.summary_statistics import LEVEL, Findings, findings_of, total_of
    from toolreel.evals._tables.answer import answer_of, compared_strategies
    from toolreel.evals._tables.bisection_tables import (
        bisection_lines,
        bisection_tables,
        bisection_tree,
        verdict_line,
    )
    from toolreel.evals._tables.case_study import beside_case_study, beside_tables, beside_tree, case_study
    from toolreel.evals._tables.comparison_tables import comparison_lines, comparison_tables, comparison_tree
    from toolreel.evals._tables.formats import HEAT
    from toolreel.evals._tables.junit import as_junit
    from toolreel.evals._tables.summary_tables import gate_table, head_lines, summary_tables
    from toolreel.evals._tables.table import TextTable, as_markdown, interval_text, without_constant_columns
else:
    from toolreel._internal.lazy import face

    __getattr__, __dir__ = face(__name__, extra="evals")

# Public; the other names are for this project's own packages and tests.
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
