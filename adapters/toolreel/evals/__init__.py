"""Evaluations, run and computed: what :mod:`toolreel_core.evals` describes.

Statistics are functions of counts and plain tuples; they need SciPy and statsmodels
(``pip install 'toolreel[evals]'``), and each module says so where they are missing.

Here are the runner and what is kept of runs (``evaluation``, ``running``, ``results``, ``replaying``),
what is made of them (``figures``, ``exporting``, ``comparing``, ``gating``, ``report``), and what can be
asked of recordings (``whatif``, ``rescoring``, ``promoting``).

=============  ===================================================================================
module         has
=============  ===================================================================================
``wilson``     the interval of a cell: ``wilson``; ``all_pass_trials`` until its lower end is so high
``clustered``  the interval of a total over cells whose runs are alike: ``clustered_rate``
``unpaired``   two rates of different tasks: ``compare_unpaired``
``paired``     two candidates on the same tasks: ``compare_paired``, ``compare_clustered``
``ties``       sets of ties in place of ranks: ``unpaired_ties``, ``paired_ties``; ``holm``
``planning``   how many runs a difference takes: ``paired_runs``, ``unpaired_runs``, and back again
``stopping``   whether a cell may stop early: ``cell_decided``, ``pairs_decided``
``borrowed``   what is borrowed from SciPy and statsmodels
=============  ===================================================================================

What needs no more than arithmetic is in :mod:`toolreel_core.evals`: ``counts`` (``Count``, ``Pairs``),
``intervals``, ``percentiles``, ``repeats`` (pass@k, pass^k), ``ties``, the rules of ``stopping``,
``gates`` and ``judging``. Rates, confidences and levels are numbers from 0 to 1.
"""

__all__: list[str] = []
