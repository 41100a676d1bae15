"""Evaluations: how reliably a model calls tools, with intervals and tests.

The runner, the files that it keeps, summaries, comparisons and reports; the pure part (scenarios,
plans, verdicts) is ``toolreel_core.evals``. Statistics need SciPy: ``pip install 'toolreel[evals]'``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.evals._public import *

else:
    from toolreel._lazy import names_of

    __getattr__, __dir__ = names_of(__name__)
