"""A run as a Temporal workflow: the reducer in the workflow, each request and tool call an activity.

Temporal keeps the history and repeats what a dead worker did not finish. ``TEMPORAL`` is its server,
``TOOLREEL_BASE_URL`` the model's server::

    python workflow.py                    # starts a worker
    python workflow.py "Order 4 pins."    # starts a run, approves what it asks, and prints how it ended
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

# The sandbox reloads modules for each run. The core only computes, so that all runs can share it.
PURE = (
    "toolreel_core",
    "pyrsistent",
    "returns",
    "jsonschema",
    "jsonschema_specifications",
    "referencing",
    "rpds",
)

with workflow.unsafe.imports_passed_through():
    from toolreel import AsyncPorts, AsyncPythonTools, Plan, RunContext, aperform, tool
    from toolreel.http import AsyncHttpEndpoint
    from toolreel_core import (
        ApprovalGiven,
        AskApproval,
        Event,
        RunTool,
        SendRequest,
        Wait,
        WaitElapsed,
        dump,
        load_effect,
        load_event,
        load_plan,
        load_state,
        pending,
        start,
        step,
    )

QUEUE = "toolreel"


@tool(needs_approval=True)
async def order(part: str, count: int, context: RunContext[None]) -> str:
    """Order parts."""
    # Temporal performs an activity again whose worker died: the warehouse tells repeated orders by the key.
    activity.logger.info("order %s", context.key)
    return f"{count} {part} ordered"


def hosted() -> AsyncPythonTools:
    """The tools; made where they are needed, since the sandbox reloads this module for each run."""
    return AsyncPythonTools([order])


@activity.defn
async def performed(effect: str) -> str:
    """Perform a request or a tool call; its failures are events, too."""
    async with AsyncHttpEndpoint(os.environ["TOOLREEL_BASE_URL"]) as endpoint:
        event = await aperform(load_effect(effect), AsyncPorts(endpoint, hosted()))
    if event is None:
        raise ValueError("only an approver leaves an effect open, and approvals are signals here")
    return dump(event)


@workflow.defn
class ToolLoop:
    """One run, from its plan to its last state."""

    def __init__(self) -> None:
        self._decisions: dict[int, bool] = {}
        self._asked: list[str] = []

    @workflow.run
    async def run(self, plan: str) -> str:
        """The last state of the run."""
        state = start(load_plan(plan)).state
        while effects := pending(state):
            for event in await asyncio.gather(*map(self._answer, effects)):
                state = step(state, event).state
        return dump(state)

    @workflow.signal
    def decide(self, ref: int, approved: bool) -> None:
        """Approve a call, or deny it."""
        self._decisions[ref] = approved

    @workflow.query
    def asked(self) -> list[str]:
        """The calls that wait for a decision, each as the text of its effect."""
        return self._asked

    async def _answer(self, effect: SendRequest | RunTool | AskApproval | Wait) -> Event:
        match effect:
            case Wait():
                await workflow.sleep(timedelta(milliseconds=effect.ms))
                return WaitElapsed(effect.ref)
            case AskApproval():
                self._asked = [dump(effect)]
                await workflow.wait_condition(lambda: effect.ref in self._decisions)
                self._asked = []
                return ApprovalGiven(effect.ref, self._decisions[effect.ref])
            case SendRequest() | RunTool():
                limit = timedelta(minutes=10)
                return load_event(
                    await workflow.execute_activity(performed, dump(effect), start_to_close_timeout=limit)
                )


def worker(client: Client) -> Worker:
    """A worker whose workflows are in the sandbox."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PURE)
    return Worker(
        client,
        task_queue=QUEUE,
        workflows=[ToolLoop],
        activities=[performed],
        workflow_runner=SandboxedWorkflowRunner(restrictions=restrictions),
    )


async def run_approved(client: Client, prompt: str) -> str:
    """Start a run, approve whatever it asks, and return how it ended."""
    plan = Plan.of(model="your-model", messages=prompt, tools=hosted().surface)
    run = await client.start_workflow(ToolLoop.run, dump(plan), id=str(uuid.uuid4()), task_queue=QUEUE)
    ended = asyncio.create_task(run.result())
    while not ended.done():
        for question in await run.query(ToolLoop.asked):
            effect = load_effect(question)
            if isinstance(effect, AskApproval):
                await run.signal(ToolLoop.decide, args=[effect.ref, True])
        await asyncio.wait([ended], timeout=0.5)
    return str(load_state(await ended).outcome)


async def main() -> None:
    """Work, or start a run."""
    client = await Client.connect(os.environ.get("TEMPORAL", "localhost:7233"))
    if sys.argv[1:]:
        print(await run_approved(client, sys.argv[1]))
    else:
        await worker(client).run()


if __name__ == "__main__":
    asyncio.run(main())
