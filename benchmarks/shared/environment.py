"""The environments of peers: one a peer, made from its list of packages, out of git's sight."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CACHE", "ROOT", "Environment", "NotInstalled"]

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".conformance"
"""Environments, and what is kept between runs."""
_PATIENCE = 900
"""Seconds that an installation may take."""


class NotInstalled(Exception):
    """A peer whose packages cannot be had; the text says why."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What a process of a peer runs in."""

    wanted: Path | None
    """``requirements.txt`` or ``package.json``, in a folder with the environment's name; without one, it is
    the environment at hand, with this project in it."""

    @property
    def path(self) -> Path:
        """Where its packages are."""
        return CACHE / self.wanted.parent.name if self.wanted else Path(sys.prefix)

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        return self.path / "bin" / "python" if self.wanted else Path(sys.executable)

    @property
    def _node(self) -> bool:
        return self.wanted is not None and self.wanted.suffix == ".json"

    def install(self) -> None:
        """Make it, unless it is there with the same packages.

        :raises NotInstalled: if that fails
        """
        if self.wanted is None:
            return
        text, stamp = self.wanted.read_text("utf-8"), self.path / ".installed"
        if stamp.exists() and stamp.read_text("utf-8") == text:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        try:
            self._make_of_node(self.wanted) if self._node else self._make_of_python(self.wanted)
        except (OSError, subprocess.SubprocessError) as error:
            raise NotInstalled(_reason(error)) from None
        stamp.write_text(text, "utf-8")

    def version(self, package: str) -> str:
        """The version of a package that is installed in it."""
        if self._node:
            told = self.path / "node_modules" / package / "package.json"
            return str(json.loads(told.read_text("utf-8"))["version"])
        script = f"from importlib.metadata import version; print(version({package!r}))"
        return _run([str(self.interpreter), "-c", script]).strip()

    def start(self, command: Sequence[str], log: str) -> subprocess.Popen[str]:
        """Start a process in it: lines go in and come out.

        :param log: the name of the file for what it says next to them
        """
        home = CACHE / "home"
        home.mkdir(parents=True, exist_ok=True)
        with (CACHE / log).open("a", encoding="utf-8") as errors:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                cwd=home,
                env=self._variables(home),
            )

    def _variables(self, home: Path) -> dict[str, str]:
        """As few as possible, so that nothing on the machine changes what a peer does."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
        paths = [ROOT, *((ROOT / "domain", ROOT / "adapters") if self.wanted is None else ())]
        return {
            **kept,
            "HOME": str(home),
            "LLM_USER_PATH": str(home),
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONPATH": os.pathsep.join(str(path) for path in paths),
            "PYTHONUNBUFFERED": "1",
            "OPENAI_API_KEY": "sk-conformance",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OTEL_SDK_DISABLED": "true",
            "CONFORMANCE_MODULES": str(self.path),
        }

    def _make_of_python(self, wanted: Path) -> None:
        _run([sys.executable, "-m", "venv", str(self.path)])
        pip = [str(self.interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--requirement", str(wanted)])

    def _make_of_node(self, wanted: Path) -> None:
        self.path.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(wanted.with_name(name), self.path / name)
        _run(["npm", "ci", "--no-audit", "--no-fund", "--prefix", str(self.path)])


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    """The last thing that an installer said, without addresses."""
    told = str(getattr(error, "stderr", "") or error).strip().splitlines()
    return re.sub(r"\w+://\S+", "…", told[-1] if told else type(error).__name__)


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE).stdout
