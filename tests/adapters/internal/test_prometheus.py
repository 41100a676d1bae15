"""Metrics as Prometheus reads them."""

from __future__ import annotations

from toolreel._internal import Durations, metric_lines


def test_durations_are_counted_in_each_bucket_that_holds_them() -> None:
    took = Durations((0.01, 1.0, 300.0))
    for seconds in (0.01, 0.011, 700.0):
        took.add(seconds)
    assert "".join(metric_lines("took", "histogram", "How long.", [({"kind": "a"}, took)])).splitlines() == [
        "# HELP took How long.",
        "# TYPE took histogram",
        'took_bucket{kind="a",le="0.01"} 1',
        'took_bucket{kind="a",le="1.0"} 2',
        'took_bucket{kind="a",le="300.0"} 2',
        'took_bucket{kind="a",le="+Inf"} 3',
        'took_sum{kind="a"} 700.021',
        'took_count{kind="a"} 3',
    ]


def test_labels_are_escaped_and_may_be_none() -> None:
    lines = "".join(
        metric_lines("runs", "gauge", "Runs.", [({}, 1), ({"queue": 'a "b"\\\n'}, 2)])
    ).splitlines()
    assert lines[2:] == ["runs 1", 'runs{queue="a \\"b\\"\\\\\\n"} 2']
