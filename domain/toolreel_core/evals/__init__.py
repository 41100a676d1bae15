"""Evaluations, the pure part: scenarios, plans, verdicts, records, summaries and gates.

Everything here is data and pure functions; :mod:`toolreel.evals` sends the requests, keeps the files and
computes statistics. Import this package if you write scenarios of your own, or run an evaluation in a
runtime of your own: ``judge`` turns the evidence of one run into a verdict, ``trials_of`` the records of all
runs into a table, a row each.

Vocabulary:

scenario
    A task, the world that it is set in, and the checks that decide whether it was done.
world
    The state behind the tools of a scenario: a frozen value that answers each call with its successor.
check
    One condition. ``outcome``: the task was done; ``exercise``: the hard part of it was not skipped.
script
    A model in a few lines, for dry runs and to prove that the checks of a scenario work.
strategy
    How much help a model gets: ``raw``, ``baseline``, ``production``, or one of your own.
configuration
    The complete settings of one run, made of strategy, provider, model, sampling profile and scenario.
cell
    One combination of the axes: model, sampling profile, strategy, scenario, endpoint.
task
    A cell without its scenario: one row of a summary.
trial, sample
    A repetition of a cell, and one planned run: a cell with the number of its trial.
evidence
    A finished run as the checks see it: outcome, final text, turns with their calls, the world.
verdict
    The result of one run, with a category and reasons: ``pass``, ``pass_unexercised`` (done, but without
    the hard part), ``fail``, ``unsupported`` (the model or its route takes no tools), or ``void`` (the
    provider or a budget failed, so the run says nothing about the model).
valid
    A run that counts in rates: neither ``void`` nor ``unsupported``.
control
    A scenario without tools. It is counted apart from the others.
record
    What is stored of one finished run, one line of JSON.
gate
    A condition that the results have to meet, declared in the plan before the first run.
"""

# mypy: implicit-reexport

from toolreel_core.evals._plan.configuration import (
    STRATEGIES,
    ChangedKey,
    Configuration,
    Strategy,
    changed_keys_between,
    configuration_for,
    evaluation_options_preset,
    strategies_of,
    tree_changes,
    with_changed_keys,
)
from toolreel_core.evals._plan.eval_plan import (
    CONTROL_RUN,
    TOOL_RUN,
    AssumedRun,
    Cell,
    Estimate,
    EvalPlan,
    Sample,
    Shard,
    check_prices_for_cost_cap,
    estimate_cost,
)
from toolreel_core.evals._plan.filters import (
    profiles_by_model,
    select_by_filter,
    select_models,
    split_comma_separated,
)
from toolreel_core.evals._plan.gates import (
    SAMPLE,
    THESE,
    About,
    Gate,
    gates_of,
    parse_gate_option,
)
from toolreel_core.evals._plan.keys import SETTINGS, PlanKey
from toolreel_core.evals._plan.options import (
    SIZES,
    Budget,
    EvalEndpoint,
    Options,
    environment_options,
    merge_layers,
    read_prices,
)
from toolreel_core.evals._records import (
    RECORDS_VERSION,
    Attempt,
    ObservedResult,
    Record,
    SentRequest,
    Trial,
    TrialOutcome,
    TrialTally,
    accepted_void_runs_sentence,
    count_repeated_replies,
    incompleteness_sentence,
    percentile_as_in_harness,
    record_line,
    record_of,
    record_tree,
    request_cost,
    trials_of,
)
from toolreel_core.evals._request_divergence import first_divergence, request_content
from toolreel_core.evals._scenarios.checks import (
    ANSWERED,
    arguments_of,
    checks_of,
    exercise,
    missing_signature,
    outcome,
    unreturned_signature,
)
from toolreel_core.evals._scenarios.claims import (
    admits_failure,
    claims_success,
    contains_value,
    denies_success,
    invented_act_clause,
    mentions_value,
    says_nothing,
)
from toolreel_core.evals._scenarios.draws import draw_values, escape_braces, fill_placeholders
from toolreel_core.evals._scenarios.forms import parameters_schema
from toolreel_core.evals._scenarios.scenario import (
    PACK,
    SCRIPT_KINDS,
    Case,
    Check,
    Evidence,
    ObservedCall,
    ObservedTurn,
    Scenario,
    ScenarioScripts,
    Script,
    ScriptKind,
    ScriptLine,
    SentExchange,
    call,
    calls_in,
    evidence_of,
    reply_as_event_stream,
    script,
    script_kind_of_model,
    scripted_reply,
)
from toolreel_core.evals._scenarios.scenario_file import check_scenario_name, read_answers, scenario_of
from toolreel_core.evals._scenarios.world import (
    TableWorld,
    WorkspaceWorld,
    World,
    failure,
    has_arguments,
    is_equivalent,
    success_result_text,
    with_value,
)
from toolreel_core.evals._verdicts import (
    CATEGORIES,
    TAXONOMY,
    Category,
    Result,
    Verdict,
    category,
    category_of_status,
    harness_name_of_category,
    judge,
    provider_error_message,
    retry_delay_ms,
    retry_reason,
)

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "CATEGORIES",
    "STRATEGIES",
    "AssumedRun",
    "Attempt",
    "Budget",
    "Case",
    "Category",
    "Cell",
    "Check",
    "Configuration",
    "Estimate",
    "EvalEndpoint",
    "EvalPlan",
    "Evidence",
    "Gate",
    "ObservedCall",
    "ObservedTurn",
    "Options",
    "Record",
    "Sample",
    "Scenario",
    "ScenarioScripts",
    "Script",
    "SentRequest",
    "Strategy",
    "TableWorld",
    "Trial",
    "TrialTally",
    "Verdict",
    "WorkspaceWorld",
    "World",
    "call",
    "checks_of",
    "draw_values",
    "estimate_cost",
    "evidence_of",
    "exercise",
    "judge",
    "outcome",
    "record_line",
    "record_of",
    "scenario_of",
    "script",
    "scripted_reply",
    "trials_of",
]
