"""Conversations as a web service: streamed as server-sent events, stored, and approved in whatever process.

Nothing of a run is kept in the process between two requests. A client that leaves cancels its run.
``RUNS`` is the file of the store, ``TOOLREEL_BASE_URL`` the model's server::

    uvicorn service:app
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from toolreel import Agent, Run, astream_on, tool
from toolreel.stream_events import RunEnded, StreamEvent, TextDelta, TextWithdrawn, ToolResult
from toolreel_core import (
    ApprovalGiven,
    AskApproval,
    Event,
    State,
    UserSpoke,
    dump,
    load_state,
    pending,
    start,
    step,
)


@tool(needs_approval=True)
def order(part: str, count: int) -> str:
    """Order parts."""
    return f"{count} {part} ordered"


agent = Agent("your-model", tools=[order], config={"stream": "always"})
app = FastAPI()


def store(statement: str, *values: str) -> list[tuple[str, ...]]:
    """Run a statement on the table of runs."""
    file = os.environ.get("RUNS", "runs.db")
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("CREATE TABLE IF NOT EXISTS runs (id PRIMARY KEY, state, claim)")
        return database.execute(statement, values).fetchall()


@dataclass
class StoredRun:
    """A run that this request has alone; as its journal, it stores each event before the run goes on."""

    run_id: str
    claim: str
    state: State

    def record(self, effect: object, event: Event) -> None:  # noqa: ARG002 - of every journal
        """Store the state after the event."""
        self.state = step(self.state, event).state
        store(
            "UPDATE runs SET state = ? WHERE id = ? AND claim = ?", dump(self.state), self.run_id, self.claim
        )

    def release(self) -> None:
        """Let others have it."""
        store("UPDATE runs SET claim = NULL WHERE id = ? AND claim = ?", self.run_id, self.claim)


@contextmanager
def claimed(run_id: str) -> Generator[StoredRun]:
    """Have a run alone, so that no call is made twice."""
    claim = str(uuid.uuid4())
    rows = store("UPDATE runs SET claim = ? WHERE id = ? AND claim IS NULL RETURNING state", claim, run_id)
    if not rows:
        raise HTTPException(409, "there is no such run, or it is under way")
    run = StoredRun(run_id, claim, load_state(rows[0][0]))
    try:
        yield run
    finally:
        run.release()


async def followed(run_id: str) -> AsyncGenerator[tuple[StoredRun, AsyncGenerator[StreamEvent, None]], None]:
    """Go on with a run; closing the stream, after the response, cancels what has not ended."""
    with claimed(run_id) as run:
        async with agent.aports() as ports, aclosing(astream_on(run.state, ports, journal=run)) as events:
            yield run, events


def shown(state: State) -> dict[str, Any]:
    """What a client may know of a run."""
    asked = [effect for effect in pending(state) if isinstance(effect, AskApproval)]
    run = Run(state, ())
    return {"status": run.outcome.name, "text": run.text, "asks": [f"{e.name}({e.arguments})" for e in asked]}


@app.post("/runs", status_code=201)
async def begin(prompt: Annotated[str, Body(embed=True)]) -> str:
    """Store a run, which nothing has happened in yet."""
    run_id = str(uuid.uuid4())
    store("INSERT INTO runs (id, state) VALUES (?, ?)", run_id, dump(start(agent.plan(prompt)).state))
    return run_id


@app.get("/runs/{run_id}")
async def look(run_id: str) -> dict[str, Any]:
    """How far the run is."""
    for (state,) in store("SELECT state FROM runs WHERE id = ?", run_id):
        return shown(load_state(state))
    raise HTTPException(404, "there is no such run")


def sent(event: str, data: object) -> bytes:
    """A server-sent event with JSON as its data."""
    return format_sse_event(event=event, data_str=json.dumps(data))


async def told(run: StoredRun, events: AsyncGenerator[StreamEvent, None]) -> AsyncIterator[bytes]:
    """What happens, as a client sees it."""
    async for event in events:
        match event:
            case TextDelta(text=text):
                yield sent("text", text)
            case TextWithdrawn(text=text):
                yield sent("instead", text)
            case ToolResult(name=name, output=output):
                yield sent("result", {"tool": name, "output": output})
            case RunEnded():
                run.release()  # before the client knows, who may decide at once
                yield sent("end", shown(run.state))
            case _:
                pass


@app.get("/runs/{run_id}/events")
async def follow(
    run_and_events: Annotated[tuple[StoredRun, AsyncGenerator[StreamEvent, None]], Depends(followed)],
) -> StreamingResponse:
    """Run until the end or an approval, and tell what happens."""
    # FastAPI's EventSourceResponse logs an error where a client leaves while an event is on its way.
    return StreamingResponse(told(*run_and_events), media_type="text/event-stream")


@app.post("/runs/{run_id}/approval", status_code=204)
async def decide(run_id: str, approved: Annotated[bool, Body(embed=True)]) -> None:
    """Store the decision about the call that the run rests at; the next stream goes on with it."""
    with claimed(run_id) as run:
        for effect in pending(run.state):
            if isinstance(effect, AskApproval):
                run.record(effect, ApprovalGiven(effect.ref, approved))
                return
    raise HTTPException(409, "no call of this run needs approval")


@app.post("/runs/{run_id}/messages", status_code=204)
async def say(run_id: str, text: Annotated[str, Body(embed=True)]) -> None:
    """Store what the user says next; the next stream answers it, with all that was said before."""
    with claimed(run_id) as run:
        run.record(None, UserSpoke(text))
