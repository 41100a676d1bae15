"""Counts of what has passed, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Final

_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_REQUESTS: Final = "toolreel_proxy_requests_total"
_ASKED: Final = frozenset({"plain", "streamed"})
_REPAIRS: Final = "toolreel_proxy_repairs_total"
_TOKENS: Final = "toolreel_proxy_tokens_total"
_SECONDS: Final = "toolreel_proxy_request_seconds"


class Metrics:
    """Counters of one proxy; none of them has what clients or models have said."""

    def __init__(self) -> None:
        self.under_way = 0
        """Requests that are being answered."""
        self._requests: Final[Counter[tuple[str, int]]] = Counter()
        self._repairs: Final[Counter[str]] = Counter()
        self._tokens: Final[Counter[str]] = Counter()
        self._added: Final[Counter[str]] = Counter()
        self._buckets: Final = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0

    def answered(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer.

        :param kind: ``plain``, ``streamed``, ``models``, or ``refused`` for what reached no upstream
        """
        self._requests[kind, status] += 1
        if kind not in _ASKED:  # they take no time, and would make the others look fast
            return
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds += seconds

    def repaired(self, names: tuple[str, ...], prompt_tokens: int, completion_tokens: int) -> None:
        """Count the repairs and tokens of a reply."""
        self._repairs.update(names)
        self._tokens["prompt"] += prompt_tokens
        self._tokens["completion"] += completion_tokens

    def added(self, reason: str) -> None:
        """Count a request that the proxy added."""
        self._added[reason] += 1

    def text(self) -> str:
        """The counters in the text format of Prometheus."""
        lines = [f"# TYPE {_REQUESTS} counter"]
        lines += [
            f'{_REQUESTS}{{kind="{kind}",status="{status}"}} {count}'
            for (kind, status), count in sorted(self._requests.items())
        ]
        lines += _family(_REPAIRS, "name", self._repairs)
        lines += _family("toolreel_proxy_added_requests_total", "reason", self._added)
        lines += _family(_TOKENS, "kind", self._tokens)
        lines += ["# TYPE toolreel_proxy_under_way gauge", f"toolreel_proxy_under_way {self.under_way}"]
        lines += [f"# TYPE {_SECONDS} histogram"]
        total = 0
        for limit, count in zip((*_BUCKETS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'{_SECONDS}_bucket{{le="{limit}"}} {total}')
        lines += [f"{_SECONDS}_sum {self._seconds:.6f}", f"{_SECONDS}_count {total}"]
        return "\n".join(lines) + "\n"


def _family(name: str, label: str, counts: Counter[str]) -> list[str]:
    values = [f'{name}{{{label}="{key}"}} {count}' for key, count in sorted(counts.items())]
    return [f"# TYPE {name} counter", *values]
