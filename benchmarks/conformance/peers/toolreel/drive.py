"""toolreel in three configurations, each the same for all shapes; all of them retry soon.

``defaults`` sets nothing else: calls that a server left in the text are read in every dialect that is marked
by tags or tokens of its own. ``marked`` says so and nudges once. ``raw`` repairs nothing, and any text is an
answer.
"""

from __future__ import annotations

import ssl
import sys
from typing import cast

import httpx

from benchmarks.conformance.peers.driving import FUNCTIONS, MODEL, PROMPT, Case, drive
from toolreel import Completed, LoopConfig, Plan, Ports, Provider, PythonTools, run
from toolreel.http import HttpEndpoint
from toolreel_core._settings import WireForm

__all__ = ["CONFIGS", "RunFailed", "ask"]


class RunFailed(Exception):
    """A run that ended in another outcome than ``completed``."""


SOON = {"retry_base_ms": 20}
CONFIGS = {
    "defaults": LoopConfig.of(SOON),
    "marked": LoopConfig.of({**SOON, "text_dialects": ["marked"], "nudge_no_tool_calls": 1}),
    "raw": LoopConfig.of(
        {**SOON, "argument_repairs": "strict", "accept_suspected_calls": True, "text_dialects": []}
    ),
}
TOOLS = PythonTools(FUNCTIONS)
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Reading the machine's certificates takes longer than a run, and loopback needs none."""


def ask(case: Case, config: LoopConfig, form: WireForm = "chat_completions") -> str:
    """One run; its text if it completed."""
    provider = Provider(wire_form=form)
    plan = Plan.of(model=MODEL, messages=PROMPT, tools=TOOLS.surface, config=config, provider=provider)
    transport = httpx.HTTPTransport(verify=NO_CERTIFICATES)
    with HttpEndpoint(case.base_url, transport=transport) as endpoint:
        outcome = run(plan, Ports(endpoint, TOOLS)).outcome
    if not isinstance(outcome, Completed):
        raise RunFailed(f"{outcome.name}: {outcome}")
    return outcome.content


if __name__ == "__main__":
    spoken = cast("WireForm", sys.argv[2]) if len(sys.argv) > 2 else "chat_completions"
    drive(lambda case: ask(case, CONFIGS[sys.argv[1]], spoken))
