"""The smallest difference between two candidates that so many runs on the same tasks can show.

It is that of the exact McNemar test, summed over all tables that can occur. It depends on the
discordance, the share of tasks on which exactly one of the two passes; take it from a small earlier run.
"""

from __future__ import annotations

from toolreel.evals._statistics.scipy import mcnemar_power
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import inside


def paired_power(discordance: float, difference: float, pairs: int, *, alpha: float = 0.05) -> float:
    """The chance that the exact McNemar test finds a difference.

    :param discordance: the share of tasks on which exactly one of the two passes
    """
    inside("alpha", alpha)
    if pairs < 1:
        raise ConfigError(f"pairs: expected at least 1, got {pairs!r}")
    if abs(difference) > inside("discordance", discordance):
        raise ConfigError(
            f"difference: expected at most the discordance, {discordance!r}, got {difference!r}: "
            "two that differ so much disagree on at least as many tasks"
        )
    return mcnemar_power(pairs, (discordance - difference) / 2, (discordance + difference) / 2, alpha)


def paired_detectable(
    discordance: float, pairs: int, *, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The smallest difference that so many pairs show; ``None`` if not even all of the discordance."""
    inside("power", power)
    low, high = 0.0, inside("discordance", discordance) * (1 - 1e-9)
    if paired_power(discordance, high, pairs, alpha=alpha) < power:
        return None
    while high - low > 1e-7:
        middle = (low + high) / 2
        enough = paired_power(discordance, middle, pairs, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high
