"""A tool that needs somebody's word: the run rests, is stored, and goes on when the word is there.

Nothing is under way while it rests, so the word may come a week later, and on another machine. What
was asked about is byte for byte what runs.
"""

from __future__ import annotations

from dataclasses import replace

from toolreel import Always, AskApproval, Completed, Plan, Ports, PythonTools, Tool, definition_of, go_on, run
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core import dump, load_state, pending

SENT: list[str] = []


def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    SENT.append(f"{to}: {text}")
    return "sent"


def main() -> None:
    """Rest, store, load, go on."""
    guarded = replace(definition_of(send_mail), needs_approval=True)
    tools = PythonTools([Tool(guarded, send_mail)])
    plan = Plan.of(model="scripted", messages="Tell Ana that it is ready.", tools=tools.surface)

    asking = ScriptedEndpoint([calling(("send_mail", {"to": "ana", "text": "It is ready."}))])
    resting = run(plan, Ports(asking, tools))
    stored = dump(resting.state)
    print(f"resting, {len(stored)} bytes of state; nothing was sent: {SENT}")

    state = load_state(stored)
    (question,) = pending(state)
    assert isinstance(question, AskApproval)
    print(f"to be approved: {question.name}({question.arguments})")

    answering = ScriptedEndpoint([saying("Ana knows.")])
    ended = go_on(state, Ports(answering, tools, Always()))
    print(f"{ended.outcome.name}; sent: {SENT}")
    assert ended.outcome == Completed("Ana knows.")
    assert SENT == ["ana: It is ready."]


if __name__ == "__main__":
    main()
