"""A real OpenTelemetry collector (rotel, from its wheel), and what it writes of the spans that it gets."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tests.patience import eventually

_PLACE = "127.0.0.1"
_FIELD = re.compile(r"^ {4}(Trace ID|Parent ID|ID|Name|Kind) +: ?(.*)$")
_VALUE = re.compile(r"^ +-> ([\w.]+): \w+\((.*)\)$")


@dataclass(frozen=True, slots=True)
class Received:
    """A span, as the collector wrote it."""

    fields: Mapping[str, str]
    attributes: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.fields["Name"]


@dataclass(slots=True)
class Collector:
    """A collector that runs; its output can be read when it has ended."""

    url: str
    """Its address for OTLP over HTTP."""
    output: Path
    text: str = field(default="", repr=False)

    def spans(self) -> list[Received]:
        """What it wrote of each span."""
        found = []
        for block in re.split(r"^Span #\d+$", self.text, flags=re.MULTILINE)[1:]:
            own = block.partition("ResourceSpans")[0].splitlines()
            fields = {match[1]: match[2] for line in own if (match := _FIELD.match(line))}
            attributes = {match[1]: match[2] for line in own if (match := _VALUE.match(line))}
            found.append(Received(fields, attributes))
        return found


def program() -> Path | None:
    """The collector's program, if its wheel is installed."""
    spec = find_spec("rotel")
    found = None if spec is None or spec.origin is None else Path(spec.origin).with_name("rotel-agent")
    return found if found is not None and found.exists() else None


@contextmanager
def collecting(agent: Path, folder: Path) -> Generator[Collector]:
    """A collector that writes what it gets; it has ended, and written all, after the block."""
    http, grpc = _free_ports()
    output = folder / "collected.txt"
    own = ["--otlp-http-endpoint", f"{_PLACE}:{http}", "--otlp-grpc-endpoint", f"{_PLACE}:{grpc}"]
    told = ["--debug-log", "traces", "--debug-log", "metrics", "--debug-log-verbosity", "detailed"]
    with output.open("w") as writes:
        process = subprocess.Popen(
            [str(agent), "start", *own, "--exporter", "blackhole", *told], stdout=writes, stderr=writes
        )
        collector = Collector(f"http://{_PLACE}:{http}", output)
        try:
            eventually(lambda: _listens(http), "the collector was to listen")
            yield collector
        finally:
            process.terminate()
            process.wait()
    collector.text = output.read_text(encoding="utf-8")


def _free_ports() -> tuple[int, int]:
    with socket.create_server((_PLACE, 0)) as one, socket.create_server((_PLACE, 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def _listens(port: int) -> bool:
    try:
        socket.create_connection((_PLACE, port)).close()
    except OSError:
        return False
    return True
