"""The peers: which loops there are, where their packages live, and how their drivers are started."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared.environment import Environment

__all__ = ["HERE", "PEERS", "Peer", "load_peers"]

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Peer:
    """One loop, and the driver that puts it through the shapes."""

    id: str
    name: str
    package: str
    """The distribution whose version is in the table."""
    folder: str
    arguments: tuple[str, ...] = ()
    node: bool = False
    ends_by_tool: bool = False
    """Whether it ends by a call of its own, so that a text is no answer to it."""

    @property
    def home(self) -> Path:
        """Where its driver and the list of its packages are."""
        return HERE / "peers" / self.folder

    @property
    def ours(self) -> bool:
        """Whether it is this project, which runs in the environment at hand."""
        return self.folder == "toolreel"

    @property
    def environment(self) -> Environment:
        """What its driver runs in."""
        wanted = self.home / ("package.json" if self.node else "requirements.txt")
        return Environment(None if self.ours else wanted)

    def version(self) -> str:
        """The version that is installed."""
        return self.environment.version(self.package)

    def start(self) -> subprocess.Popen[str]:
        """Start its driver, which reads cases and writes what came of them."""
        return self.environment.start(self._command(), f"{self.id}.log")

    def _command(self) -> list[str]:
        if self.node:
            return ["node", str(self.home / "drive.mjs")]
        module = f"benchmarks.conformance.peers.{self.folder}.drive"
        return [str(self.environment.interpreter), "-m", module, *self.arguments]


def load_peers(path: Path = HERE / "peers" / "peers.toml") -> tuple[Peer, ...]:
    """All peers, in the order of the table."""
    entries = tomllib.loads(path.read_text("utf-8"))
    return tuple(
        Peer(
            id=identity,
            name=str(entry["name"]),
            package=str(entry["package"]),
            folder=str(entry.get("folder", identity)),
            arguments=tuple(str(word) for word in entry.get("arguments", ())),
            node=bool(entry.get("node", False)),
            ends_by_tool=bool(entry.get("ends_by_tool", False)),
        )
        for identity, entry in entries.items()
    )


PEERS = load_peers()
