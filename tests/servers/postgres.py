"""A real PostgreSQL server of the tests' own: a cluster in a folder, reached over a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # a killed server keeps what it wrote; only a dead machine would not
    "shared_buffers": "16MB",
    "max_connections": "120",
    "log_min_messages": "panic",
}


def found() -> Path | None:
    """The folder with the newest server that is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    on_path = shutil.which("postgres")
    return folders[-1] if folders else Path(on_path).parent if on_path else None


class Postgres:
    """A server that runs, with the folder of its cluster."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._server: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def initialise(self) -> None:
        """Make the cluster."""
        self._run("initdb", "-D", str(self._folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync")

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        where = ["-D", str(self._folder / "data"), "-k", str(self._folder)]
        self._server = subprocess.Popen(
            [*_as_its_user(), str(self._programs / "postgres"), *where, *settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                psycopg.connect(self._dsn("postgres")).close()
            except psycopg.OperationalError:
                assert self._server.poll() is None, "the server ended while it started"
                time.sleep(0.02)
            else:
                return

    def stop_at_once(self) -> None:
        """Stop it as ``pg_ctl stop -m immediate`` does: it recovers when it starts again."""
        assert self._server is not None
        # setpriv has become the server, so this is its process; SIGQUIT is its immediate shutdown.
        self._server.send_signal(3)
        self._server.wait()

    def restart_at_once(self) -> None:
        """Stop it at once, and start it again."""
        self.stop_at_once()
        self.start()

    def create(self, template: str = "template1") -> str:
        """A new database; returns its URL."""
        self._databases += 1
        name = f"tests_{self._databases}"
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return f"postgresql://postgres@/{name}?host={self._folder}"

    def cpu_seconds(self) -> float:
        """CPU that the server and its processes have used."""
        assert self._server is not None
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # a process that has just ended
                pid, _, fields = stat.read_text().partition(" (")
                numbers = fields.rpartition(") ")[2].split()
                if int(pid) == self._server.pid:
                    ticks += sum(map(int, numbers[11:15]))  # its own, and that of children that have ended
                elif int(numbers[1]) == self._server.pid:
                    ticks += sum(map(int, numbers[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _dsn(self, database: str) -> str:
        return f"host={self._folder} user=postgres dbname={database}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*_as_its_user(), str(self._programs / program), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
        )


@contextmanager
def serving_postgres(programs: Path) -> Generator[Postgres]:
    """A server for the time of the block."""
    folder = Path(tempfile.mkdtemp(prefix="toolreel-pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    server = Postgres(programs, folder)
    try:
        server.initialise()
        server.start()
        yield server
        server.stop_at_once()
    finally:
        shutil.rmtree(folder)


def _as_its_user() -> list[str]:
    """What runs a program as another user than root, which PostgreSQL refuses."""
    if os.getuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
