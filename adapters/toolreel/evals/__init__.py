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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.evals._public import *

else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__, "evals")
