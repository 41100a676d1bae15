"""A conversation: the user asks again, and says something while a tool is running.

It is one run with one journal; replayed, it makes the same journal again.
"""

from __future__ import annotations

from toolreel import (
    Inbox,
    LoopConfig,
    MemoryJournal,
    Plan,
    Ports,
    PythonTools,
    Rehearsal,
    parse_journal,
    run,
    speak,
)
from toolreel.testing import ScriptedEndpoint, calling, saying

INBOX = Inbox()


def search(text: str) -> str:
    """Search the shop."""
    INBOX.say("Only those below 10 euros.")
    return f"12 results for {text}"


def main() -> None:
    """Ask, steer, ask again, replay."""
    endpoint = ScriptedEndpoint(
        [
            calling(("search", {"text": "red pins"})),
            saying("Four are below 10 euros."),
            saying("The cheapest costs 2 euros."),
        ]
    )
    tools = PythonTools([search])
    config = LoopConfig(max_turns=4, max_conversation_turns=40)
    plan = Plan.of(model="scripted", messages="Find red pins.", tools=tools.surface, config=config)
    journal, ports = MemoryJournal(plan), Ports(endpoint, tools)

    done = run(plan, ports, journal=journal, inbox=INBOX)
    done = speak(done, "And the cheapest?", ports, journal=journal, inbox=INBOX)
    for message in done.state.messages.messages:
        print(f"{type(message).__name__}: {message.content or 'calls'}")

    recorded, again = parse_journal(journal.text), MemoryJournal(plan)
    rehearsal = Rehearsal(recorded)
    rehearsal.play(plan, journal=again)
    rehearsal.finish()
    assert again.text == journal.text
    print(f"replayed: {len(recorded.records)} events, {done.state.tally.turns} turns")


if __name__ == "__main__":
    main()
