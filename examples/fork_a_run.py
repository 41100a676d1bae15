"""What if? A recorded session of a real model, gone on from the middle with one thing changed.

Nothing is sent anywhere: the record itself answers, or a script does. Against a live server, the
performer would be ``Ports(HttpEndpoint(...), tools)``, or on the command line ``toolreel fork``.
"""

from __future__ import annotations

from toolreel import Changes, Completed, Ports, PythonTools, counterfactual, diff, fork
from toolreel.demo import demo_cassette, workspace
from toolreel.testing import ScriptedEndpoint, calling, saying

SESSION = demo_cassette()


def another_result() -> None:
    """The release is ready already when the model looks."""
    told = '{"path":"/release/status","value":"ready","version":7}'
    model = ScriptedEndpoint([saying("It is ready already.")])
    forked = fork(SESSION, 2, Changes(tool_result=told), performer=Ports(model, PythonTools(workspace())))
    assert forked.outcome == Completed("It is ready already.")

    difference = diff(SESSION, forked.recorded)
    assert difference.first is not None
    print(f"event {difference.first.n}: {difference.first.changes[0]}")
    for turn in difference.turns:
        print(f"turn {turn.number}: {'the same' if turn.same else turn.b or 'never came'}")


def another_model() -> None:
    """Another model goes on after the first call, and its calls run for real."""
    model = ScriptedEndpoint(
        [
            calling(("state_patch", {"path": "/release/status", "value": "done", "version": 7})),
            saying("Done."),
        ]
    )
    tools = workspace()
    forked = fork(SESSION, 2, Changes(model="other"), performer=Ports(model, PythonTools(tools)))
    print([asked.request.model for asked in model.asked], "continues:", forked.outcome)
    # The fork is a record like any other: it can be saved, replayed, compared and forked again.
    assert fork(forked.recorded, 4).recorded.digest == forked.recorded.digest


def another_configuration() -> None:
    """The same replies, without the dialects that read calls which are written as text."""
    blind = Changes(config={"text_dialects": [], "accept_suspected_calls": True})
    told = counterfactual(SESSION, blind)
    assert told.was is not None
    assert told.now is not None
    print(f"{told.carried} of {len(told.forked.begun.source.records)} events carry: {told.now}")
    assert told.was != told.now


if __name__ == "__main__":
    another_result()
    another_model()
    another_configuration()
