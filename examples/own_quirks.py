"""A provider of your own with its quirks: a transform, a form of ids, and a window that is soon full.

The transform is a named function, so the plan stays data; import it before you replay the run.
"""

from __future__ import annotations

import json

from toolreel import LoopConfig, Plan, Ports, Provider, PythonTools, Tree, register_transform, run
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core._protocol import HistoryShortened, QuirkApplied


@register_transform("message", "lab_user_names", about="Our gateway wants to know who speaks.")
def lab_user_names(message: Tree) -> Tree:
    """The message with a name, if the user said it."""
    return {**message, "name": "release-bot"} if message.get("role") == "user" else message


def page(number: int) -> str:
    """Read a page of the handbook.

    Args:
        number: Which page, counted from 1.
    """
    return f"Page {number}. " + "Nothing of interest. " * 30


def main() -> None:
    """Read four pages with a window for two, and show what went out."""
    tools = PythonTools([page])
    plan = Plan.of(
        model="scripted",
        messages="What does the handbook say?",
        tools=tools.surface,
        provider=Provider(id_style="alnum9", tool_turn_content="null", tool_result_name=True),
        config=LoopConfig(
            message_transforms=("lab_user_names",),
            context_window_tokens=700,
            history_policies=("shorten_old_tool_results", "keep_newest_turns"),
        ),
    )
    calls = [calling(("page", {"number": number})) for number in range(1, 5)]
    endpoint = ScriptedEndpoint([*calls, saying("Nothing of interest.")])
    ended = run(plan, Ports(endpoint, tools))

    for text in ended.state.messages.texts:
        message = json.loads(text)
        print(message["role"], str(message["content"])[:70])
    for note in ended.notes:
        if isinstance(note, HistoryShortened):
            before, after = note.tokens_before, note.tokens_after
            print(f"turn {note.turn}: {', '.join(note.policies)}, {before} to {after} tokens")
    quirks = sorted({note.name for note in ended.notes if isinstance(note, QuirkApplied)})
    print(f"{ended.outcome.name}; quirks applied: {', '.join(quirks)}")
    print(f"{len(ended.state.messages.messages)} messages are stored, all of them whole")


if __name__ == "__main__":
    main()
