"""The peers: which loops there are, where their packages live, and how their drivers are started."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["CACHE", "HERE", "PEERS", "ROOT", "NotInstalled", "Peer", "load_peers"]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
CACHE: Final = ROOT / ".conformance"
"""Environments and results; git does not see it."""
_PATIENCE: Final = 900
"""Seconds that an installation may take."""


class NotInstalled(Exception):
    """A peer whose packages cannot be had; the text says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One loop, and the driver that puts it through the shapes."""

    id: str
    name: str
    package: str
    """The distribution whose version stands in the table."""
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

    def install(self) -> None:
        """Make its environment, unless it is there with the same packages.

        :raises NotInstalled: if that fails
        """
        if self.ours:
            return
        wanted = self._wanted().read_text("utf-8")
        stamp = self._environment / ".installed"
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return
        shutil.rmtree(self._environment, ignore_errors=True)
        try:
            self._install_node() if self.node else self._install_python()
        except (OSError, subprocess.SubprocessError) as error:
            raise NotInstalled(_reason(error)) from None
        stamp.write_text(wanted, "utf-8")

    def version(self) -> str:
        """The version that is installed."""
        if self.node:
            package = self._environment / "node_modules" / self.package / "package.json"
            return str(json.loads(package.read_text("utf-8"))["version"])
        script = f"from importlib.metadata import version; print(version({self.package!r}))"
        return _output([str(self._python), "-c", script])

    def start(self) -> subprocess.Popen[str]:
        """Start its driver, which reads cases and writes what came of them."""
        home = CACHE / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
        environment = {
            **kept,
            "HOME": str(home),
            "LLM_USER_PATH": str(home),
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONPATH": os.pathsep.join(str(path) for path in self._paths()),
            "PYTHONUNBUFFERED": "1",
            "OPENAI_API_KEY": "sk-conformance",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OTEL_SDK_DISABLED": "true",
            "CONFORMANCE_MODULES": str(self._environment),
        }
        errors = (CACHE / f"{self.id}.log").open("a", encoding="utf-8")
        with errors:
            return subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                cwd=home,
                env=environment,
            )

    @property
    def _environment(self) -> Path:
        return CACHE / self.folder

    @property
    def _python(self) -> Path:
        return Path(sys.executable) if self.ours else self._environment / "bin" / "python"

    def _wanted(self) -> Path:
        return self.home / ("package.json" if self.node else "requirements.txt")

    def _command(self) -> list[str]:
        if self.node:
            return ["node", str(self.home / "drive.mjs")]
        module = f"benchmarks.conformance.peers.{self.folder}.drive"
        return [str(self._python), "-m", module, *self.arguments]

    def _paths(self) -> list[Path]:
        return [ROOT, *((ROOT / "domain", ROOT / "adapters") if self.ours else ())]

    def _install_python(self) -> None:
        _run([sys.executable, "-m", "venv", str(self._environment)])
        pip = [str(self._python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--requirement", str(self._wanted())])

    def _install_node(self) -> None:
        self._environment.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(self.home / name, self._environment / name)
        _run(["npm", "ci", "--no-audit", "--no-fund", "--prefix", str(self._environment)])


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    """The last thing that an installer said, without addresses."""
    told = str(getattr(error, "stderr", "") or error).strip().splitlines()
    return re.sub(r"\w+://\S+", "…", told[-1] if told else type(error).__name__)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE)
    return done.stdout.strip()


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


PEERS: Final = load_peers()
