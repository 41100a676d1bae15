"""Evaluations: measure how reliably models call tools, with intervals and tests.

::

    from pathlib import Path
    from toolreel.evals import Results, evaluate, load_eval_plan, plan_results, write_summaries

    plan = load_eval_plan(Path("evaluation.toml"))
    outcome = evaluate(plan, Path("results"))  # call it again to resume
    results = Results.open("results")
    trials = write_summaries(results, plan)  # a row each; everything downstream is a function of them
    for gate in plan_results(plan, trials):
        print(gate.standing, gate.sentence)

``report_page(results)`` renders the HTML report, ``compare`` compares two evaluations or two strategies of
one, ``replay_runs`` repeats recorded runs offline. The pure part (scenarios, plans, verdicts, the table of
trials) is ``toolreel_core.evals``. Statistics need the extra ``toolreel[evals]``.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.evals._own_scenarios import (
        Proof,
        ScriptProof,
        proof_of,
        proof_sentences,
        scenario_of_session,
        scenario_template,
        write_new_file,
    )
    from toolreel.evals._replay import (
        ReplayedTrial,
        promote,
        promoted_verdict,
        rejudge_runs,
        replay_runs,
        write_rejudged_evaluation,
    )
    from toolreel.evals._report.case_study import (
        case_study_tables,
        measured_case_study_figures,
        published_case_study_figures,
    )
    from toolreel.evals._report.inspect_log import write_inspect_logs
    from toolreel.evals._report.page import report_page, transcript_of
    from toolreel.evals._report.tables import (
        TextTable,
        comparison_lines,
        comparison_tables,
        comparison_tree,
        gate_table,
        markdown_document,
        one_short_line,
        rejudged_tables,
        rejudged_tree,
        rejudging_report_lines,
        report_header_lines,
        summary_tables,
        without_usual_columns,
    )
    from toolreel.evals._results import (
        EvaluationJournal,
        Header,
        Results,
        all_records,
        read_header,
        recording_of,
        write_atomically,
    )
    from toolreel.evals._runner.evaluation import (
        Connection,
        EvaluationOutcome,
        ExistingRuns,
        Spending,
        Watcher,
        connect,
        evaluate,
        job_factory,
        new_header,
        run_in_threads,
        scrubbed_base_url,
    )
    from toolreel.evals._runner.plan_loader import join_results, load_eval_plan, plan_of_header, shard_plan
    from toolreel.evals._runner.scenario_files import (
        built_in_scenario,
        built_in_scenarios,
        expand_path_pattern,
        read_scenarios,
        scenario,
        scenario_groups,
        select_scenarios,
    )
    from toolreel.evals._runner.trial import ScenarioEndpoint, WorldHost
    from toolreel.evals._statistics import (
        PairedCell,
        Rate,
        RateDifference,
        cluster_mean_cdf,
        detectable_difference,
        holm,
        mean_bounds,
        p_value_of_break,
        p_value_of_mean,
        paired_rate_difference,
        pass_hat,
        power_of_test,
        rate_of,
        runs_to_show_margin,
        scaled_scenario_differences,
        wilson_bounds,
    )
    from toolreel.evals._summary.gates import (
        GateResult,
        Sides,
        check_gates,
        gate_forecasts,
        gate_trees,
        plan_results,
        power_sentence,
    )
    from toolreel.evals._summary.summary_files import summary_trees, write_summaries, write_trials
    from toolreel.evals._summary.totals import (
        Comparison,
        Total,
        compare,
        findings_of,
        headline_sentences,
        warning_sentences,
    )
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("evals"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "Comparison",
    "Connection",
    "EvaluationOutcome",
    "ExistingRuns",
    "GateResult",
    "Header",
    "Proof",
    "Rate",
    "ReplayedTrial",
    "Results",
    "ScriptProof",
    "Watcher",
    "built_in_scenario",
    "built_in_scenarios",
    "compare",
    "connect",
    "evaluate",
    "join_results",
    "load_eval_plan",
    "new_header",
    "plan_of_header",
    "plan_results",
    "promote",
    "promoted_verdict",
    "proof_of",
    "read_scenarios",
    "replay_runs",
    "report_page",
    "scenario",
    "scenario_groups",
    "select_scenarios",
    "shard_plan",
    "write_inspect_logs",
    "write_summaries",
    "write_trials",
]
