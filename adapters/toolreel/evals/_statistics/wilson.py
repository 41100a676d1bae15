"""The interval of a cell: Wilson's score interval."""

from __future__ import annotations

from toolreel.evals._statistics.scipy import normal_quantile, wilson_bounds
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Count, Interval, inside


def wilson(count: Count, confidence: float = 0.95) -> Interval | None:
    """Where the rate of a cell lies; ``None`` if it has no runs.

    Its runs are taken as independent; for a total over several cells there is
    :func:`~toolreel.evals._statistics.clustered.clustered_rate`.

    >>> print(wilson(Count(496, 580)))
    82.4 to 88.1 %
    """
    alpha = 1 - inside("confidence", confidence)
    return (
        Interval(*wilson_bounds(count.passed, count.runs, alpha), confidence, "Wilson")
        if count.runs
        else None
    )


def all_pass_trials(lower_bound: float, confidence: float = 0.95) -> int:
    """How many trials of a cell it takes, if all pass, until the lower end of its interval is so high.

    >>> [all_pass_trials(bound) for bound in (0.90, 0.95, 0.99)]
    [35, 73, 381]

    :raises ConfigError: if it would take more than a billion
    """
    alpha = 1 - inside("confidence", confidence)
    # Of n passes, Wilson's lower end is n / (n + z²).
    squared = normal_quantile(1 - alpha / 2) ** 2
    wanted = squared * inside("lower_bound", lower_bound) / (1 - lower_bound)
    if wanted > 1e9:
        raise ConfigError(f"lower_bound: {lower_bound!r} would take more than a billion trials")
    return next(trials for trials in _from(wanted) if wilson_bounds(trials, trials, alpha)[0] >= lower_bound)


def _from(wanted: float) -> range:
    """Numbers of trials to try: the formula's, and its neighbours, since it rounds."""
    return range(max(1, int(wanted) - 1), int(wanted) + 4)
