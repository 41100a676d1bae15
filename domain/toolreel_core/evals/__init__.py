"""Evaluations, the pure part: scenarios, plans, verdicts, records, summaries and gates.

Everything here is data and pure functions; :mod:`toolreel.evals` sends the requests, keeps the files and
computes confidence intervals. Import this package if you write scenarios of your own, or run an evaluation
in a runtime of your own: ``judge`` turns the evidence of one run into a verdict, ``summarise`` folds the
records of all runs into a summary.

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
    One combination of the axes: model, sampling profile, strategy, fallback profile, scenario.
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

from toolreel_core.evals._plan.cells import Cell, Sample, Task
from toolreel_core.evals._plan.cost_estimate import AssumedRun, Estimate, estimate_cost
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.named_endpoints import Endpoint
from toolreel_core.evals._plan.options import Budget, Options
from toolreel_core.evals._plan.prices import Price
from toolreel_core.evals._plan.run_configuration import Configuration
from toolreel_core.evals._plan.strategies import STRATEGIES, Strategy
from toolreel_core.evals._records.record import Attempt, Record, SentRequest, record_line, record_of
from toolreel_core.evals._scenarios.catalogue import GROUPS, SCENARIOS, scenario, select_scenarios
from toolreel_core.evals._scenarios.checks import (
    argument_omitted,
    called,
    called_before,
    error_occurred,
    exercise,
    first_calls_are,
    no_calls,
    outcome,
    says_done,
    says_something,
    world_has,
)
from toolreel_core.evals._scenarios.draws import Draws
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall, ObservedTurn, evidence_of
from toolreel_core.evals._scenarios.scenario import Case, Check, Scenario
from toolreel_core.evals._scenarios.scripted_model import (
    ScenarioScripts,
    Script,
    call,
    script,
    scripted_reply,
)
from toolreel_core.evals._scenarios.truth import (
    Fact,
    admits_failure,
    read_before_used,
    told_before,
    truthful,
)
from toolreel_core.evals._statistics.counts import (
    CellMean,
    Count,
    Interval,
    Pairs,
    pass_hat,
    total,
    total_pairs,
)
from toolreel_core.evals._statistics.differences import Difference
from toolreel_core.evals._statistics.gates import (
    Figures,
    Gate,
    GateResult,
    Measurements,
    NoRegression,
    NoWorseThan,
    StrategyComparison,
    Threshold,
    check_gate,
    overall_standing,
)
from toolreel_core.evals._summary import (
    CellSummary,
    ResultCounts,
    RunEntry,
    Summary,
    TaskSummary,
    Usage,
    nearest_rank,
    summarise,
)
from toolreel_core.evals._verdicts import CATEGORIES, Category, Verdict, judge
from toolreel_core.evals._worlds.desk import Answer, Desk
from toolreel_core.evals._worlds.facts_and_draft import Mishaps, Workspace
from toolreel_core.evals._worlds.world import World

__all__ = [
    "CATEGORIES",
    "GROUPS",
    "SCENARIOS",
    "STRATEGIES",
    "Answer",
    "AssumedRun",
    "Attempt",
    "Budget",
    "Case",
    "Category",
    "Cell",
    "CellMean",
    "CellSummary",
    "Check",
    "Configuration",
    "Count",
    "Desk",
    "Difference",
    "Draws",
    "Endpoint",
    "Estimate",
    "EvalPlan",
    "Evidence",
    "Fact",
    "Figures",
    "Gate",
    "GateResult",
    "Interval",
    "Measurements",
    "Mishaps",
    "NoRegression",
    "NoWorseThan",
    "ObservedCall",
    "ObservedTurn",
    "Options",
    "Pairs",
    "Price",
    "Record",
    "ResultCounts",
    "RunEntry",
    "Sample",
    "Scenario",
    "ScenarioScripts",
    "Script",
    "SentRequest",
    "Strategy",
    "StrategyComparison",
    "Summary",
    "Task",
    "TaskSummary",
    "Threshold",
    "Usage",
    "Verdict",
    "Workspace",
    "World",
    "admits_failure",
    "argument_omitted",
    "call",
    "called",
    "called_before",
    "check_gate",
    "error_occurred",
    "estimate_cost",
    "evidence_of",
    "exercise",
    "first_calls_are",
    "judge",
    "nearest_rank",
    "no_calls",
    "outcome",
    "overall_standing",
    "pass_hat",
    "read_before_used",
    "record_line",
    "record_of",
    "says_done",
    "says_something",
    "scenario",
    "script",
    "scripted_reply",
    "select_scenarios",
    "summarise",
    "told_before",
    "total",
    "total_pairs",
    "truthful",
    "world_has",
]
