"""The ports of a worker that a command starts."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from toolreel._cli.durable.limits import SharedLimits
from toolreel._cli.options.server import ServerChoice
from toolreel._cli.options.sources import Sources
from toolreel._cli.output.console import withhold
from toolreel._driver.performer import Ports
from toolreel._driver.ports import Approver, ToolHost, secrets_of
from toolreel._driver.user.approvers import Always, Later, Never
from toolreel.tools._hosts import Router
from toolreel.tools._python.tools import PythonTools
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.surface import ToolSurface

_UNLIMITED: Final = SharedLimits()


def approver_of(approve: str) -> Approver:
    """Who decides about calls that need approval; ``wait`` lets the run wait for somebody."""
    match approve:
        case "always":
            return Always()
        case "never":
            return Never("")
        case _:
            return Later()


@dataclass(frozen=True, slots=True)
class WholeHost:
    """The tools of a worker, with what they are called: so a run is refused whose tools are not there."""

    host: ToolHost
    surface: ToolSurface

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the hosts send."""
        return secrets_of(self.host)

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its host."""
        return self.host.run(effect)


@contextmanager
def live_ports(
    base_url: str,
    server: ServerChoice,
    timeout: float,
    sources: Sources,
    approver: Approver,
    limits: SharedLimits = _UNLIMITED,
) -> Generator[Ports]:
    """Ports to a server, within limits, and the tools of all sources."""
    target = server.target(base_url, timeout, sources.secrets)
    withhold(target.secrets)
    host = WholeHost(Router(sources.hosts, PythonTools(sources.tools)), sources.surface((), ()))
    with target.opened(None, None) as endpoint, limits.over(endpoint, target) as limited:
        yield Ports(limited, host, approver)
