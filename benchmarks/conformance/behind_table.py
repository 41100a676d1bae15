"""What the proxy makes of the same clients: right alone, behind it, and what got worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.conformance.row import Row
from benchmarks.conformance.setup import BEHIND, WORDS, Setup

__all__ = ["behind_page", "behind_table", "headline"]

_HEAD = (
    "| right, of {shapes} shapes | direct | behind the proxy | gain "
    "| with requests of its own | gain | got worse |\n"
    "|---|---:|---:|---:|---:|---:|---:|"
)


class _Client(NamedTuple):
    """One client in all setups."""

    rows: Mapping[Setup, Row]

    @property
    def name(self) -> str:
        return self.rows["direct"].peer.name

    def right(self, setup: Setup) -> int:
        return len(self.rows[setup].right)

    def gain(self, setup: Setup) -> int:
        return self.right(setup) - self.right("direct")

    def column(self, setup: Setup) -> str:
        """What is right there, and how much more that is than alone."""
        return f"{self.right(setup)} | {self.gain(setup):+d}" if setup in self.rows else "– | –"

    def worse(self, setup: Setup) -> list[str]:
        """What it gets right on its own, and not behind the proxy."""
        return sorted(self.rows["direct"].right - self.rows[setup].right) if setup in self.rows else []


def _clients(rows: Mapping[Setup, Sequence[Row]]) -> list[_Client]:
    """All that were put behind the proxy; toolreel's own loop needs none."""
    clients = [_Client(_setups_of(row.peer.id, rows)) for row in rows["direct"] if not row.peer.ours]
    return [client for client in clients if "proxy" in client.rows]


def _setups_of(peer: str, rows: Mapping[Setup, Sequence[Row]]) -> dict[Setup, Row]:
    """A peer's row in each setup that it was put through."""
    return {setup: row for setup, each in rows.items() for row in each if row.peer.id == peer}


def behind_table(rows: Mapping[Setup, Sequence[Row]]) -> str:
    """The counts, as Markdown."""
    clients = _clients(rows)
    shapes = max((len(client.rows["direct"].verdicts) for client in clients), default=0)
    lines = [_HEAD.format(shapes=shapes)]
    for client in clients:
        proxied, asking = map(client.column, BEHIND)
        worse = {shape for setup in BEHIND for shape in client.worse(setup)}
        lines.append(f"| {client.name} | {client.right('direct')} | {proxied} | {asking} | {len(worse)} |")
    return "\n".join(lines) + "\n"


def headline(rows: Mapping[Setup, Sequence[Row]], shapes: int) -> str:
    """What the proxy does for its clients, in a sentence."""
    clients = _clients(rows)
    direct, proxied, asking = (
        _range([client.right(setup) for client in clients if setup in client.rows])
        for setup in ("direct", *BEHIND)
    )
    gains = _range([client.gain("proxy") for client in clients])
    return (
        f"Of {shapes} shapes of replies that real servers have sent, {len(clients)} well-known clients "
        f"get {direct} right\n"
        f"on their own, {proxied} behind the proxy ({gains} more each), and {asking} with the "
        "three repairs that cost\na request ([the table](compare.md#behind-the-proxy)).\n"
    )


def _range(numbers: Sequence[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}" if numbers else "none"


def behind_page(rows: Mapping[Setup, Sequence[Row]]) -> str:
    """The table, and what is not right behind the proxy, client by client."""
    parts = ["# The same clients behind the proxy\n", behind_table(rows)]
    for client in _clients(rows):
        parts.append(f"## {client.name}\n")
        for setup in BEHIND:
            if setup in client.rows:
                parts.append(f"Not right {_in_words(setup)}:\n")
                parts.append("\n".join(_left(client, setup)) + "\n")
    return "\n".join(parts)


def _in_words(setup: Setup) -> str:
    return WORDS[setup] if setup == "proxy" else f"behind the proxy {WORDS[setup]}"


def _left(client: _Client, setup: Setup) -> Iterator[str]:
    worse = client.worse(setup)
    left = {shape: why for shape, why in client.rows[setup].verdicts.items() if not why.startswith("right:")}
    if not left:
        yield "- nothing"
    for shape, why in left.items():
        note = " (**right on its own**)" if shape in worse else ""
        yield f"- {shape}{note}: {_plain(why)}"


def _plain(why: str) -> str:
    """A reason as it is in a list of Markdown."""
    return "`" + " ".join(why[:140].replace("`", "'").split()) + "`"
