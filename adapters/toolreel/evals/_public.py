"""The public names of ``toolreel.evals``."""

from toolreel.evals._replay.promote import Promoted
from toolreel.evals._replay.replay import replays
from toolreel.evals._replay.rescore import rescored
from toolreel.evals._report.page import report_page
from toolreel.evals._report.pictures import report_pictures
from toolreel.evals._runner.evaluation import evaluate
from toolreel.evals._store.plan_file import planned
from toolreel.evals._store.results import Results
from toolreel.evals._summary.comparison import Comparison, compare
from toolreel.evals._summary.export import summary_of, write_summaries

__all__ = [
    "Comparison",
    "Promoted",
    "Results",
    "compare",
    "evaluate",
    "planned",
    "replays",
    "report_page",
    "report_pictures",
    "rescored",
    "summary_of",
    "write_summaries",
]
