"""Write the schema, and the conversations as the core plays them: ``python -m tests.kit.write``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.kit.schema import schema_text
from tests.kit.scripts import OTHER, SCRIPTS, Event, Script
from toolreel_core.__main__ import SCHEMA
from toolreel_core._host_session import HostSession
from toolreel_core._jsontext import Json, canonical, digest
from toolreel_core._protocol import encode

FOLDER = Path(__file__).parent / "conversations"
_ANSWERED_BY = {
    "http_response": "send_request",
    "http_chunk": "send_request",
    "request_failed": "send_request",
    "tool_returned": "run_tool",
    "approval_given": "ask_approval",
    "wait_elapsed": "wait",
}


class Play:
    """A conversation that is being played; ``text`` is its file."""

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self.session = HostSession()
        self.lines = [f"# {script.about}"]
        self.pending: dict[str, list[Any]] = {}
        self.journals: dict[str, str] = {}
        self.state: Json = None
        self.stateless = script.stateless
        for run, plan in ((name, script.plan), (OTHER, script.other)):
            if plan is not None:
                self._send(run, {"start": encode(plan)})
        for written in script.world:
            if isinstance(written, str):
                self._line(written)
            else:
                self._event({**written})

    @property
    def text(self) -> str:
        digests = [f"= {run} {digest(text)}" for run, text in self.journals.items()]
        return "".join(f"{line}\n" for line in (*self.lines, *digests))

    def _event(self, event: Event) -> None:
        event = dict(event)
        run, answered = str(event.pop("run", self.name)), _ANSWERED_BY.get(str(event["type"]))
        if answered and "ref" not in event:
            event["ref"] = next(one["ref"] for one in self.pending[run] if one["type"] == answered)
        answer = self._send(run, {**({"state": self.state} if self.stateless else {}), "event": event})
        left = [one for one in self.pending[run] if "deltas" in answer or one.get("ref") != event.get("ref")]
        self.pending[run] = [*left, *answer["effects"]]

    def _send(self, run: str, message: dict[str, Json]) -> Any:  # noqa: ANN401 - parsed JSON
        named = {} if self.stateless else {"run": run}
        answer = self._line(canonical({"toolreel": 1, **named, **message, "with": ["journal"]}))
        self.journals[run] = self.journals.get(run, "") + "".join(f"{line}\n" for line in answer["journal"])
        self.pending.setdefault(run, answer["effects"])
        self.state = answer.get("state")
        return answer

    def _line(self, line: str) -> Any:  # noqa: ANN401 - parsed JSON
        answer = self.session.answer(line)
        self.lines += [f"> {line}", f"< {answer}"]
        return json.loads(answer)


def main() -> None:
    """Write all conversations, and the schema."""
    SCHEMA.write_text(schema_text(), "utf-8")
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for name, script in SCRIPTS.items():
        (FOLDER / f"{name}.txt").write_text(Play(name, script).text, "utf-8")


if __name__ == "__main__":
    main()
