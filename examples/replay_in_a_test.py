r"""A recorded session in your test suite: the model's replies come from a file, your tools run for real.

Record a session once, against any OpenAI-compatible server::

    toolreel run "Set /release/status to ready." --model … --base-url … \
        --tools my_tools:TOOLS --record cassettes/release/provider--model

and commit both files that it writes. From then on the tests below need no network, no key and no
model, take milliseconds, and give the same result on every machine. Copy this file, name it
``test_*.py``, and pytest finds them; or run it as it is: ``python examples/replay_in_a_test.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from toolreel import Completed, ReplayMismatch, replay, story
from toolreel.demo import Workspace

CASSETTES = Path(__file__).resolve().parents[1] / "cassettes"
SESSION = CASSETTES / "workspace" / "local--qwen2.5-coder-1.5b.yaml"


def test_the_release_is_set_to_ready() -> None:
    """What you would assert of a live run, you can assert of this one."""
    release = Workspace()  # stands for your own code, which your tools work on

    replayed = replay(SESSION, tools=lambda: [release.state_get, release.state_patch])

    # Which tools did the model call, and did they succeed?
    calls = [call for turn in story(replayed.run) for call in turn.calls]
    assert [(call.name, call.ok) for call in calls] == [("state_get", True), ("state_patch", True)]

    # How did the run end? And is it true? Only your own data can say.
    assert replayed.run.outcome == Completed("Done")
    assert release.sections["release"]["status"] == "ready"


def test_a_tool_that_was_reworded_is_noticed() -> None:
    """Whatever differs from the recording is an error that shows the first difference.

    So it is for a prompt, an option, a tool's description or its result. If the change is meant,
    record again with ``--overwrite``, and review the cassette's diff together with the code's.
    """

    def state_get(path: str) -> dict[str, object]:
        """Read a value.

        Args:
            path: JSON Pointer of the value, for example /release/status.
        """
        return Workspace().state_get(path)

    with pytest.raises(ReplayMismatch, match="Read one value of the workspace"):
        replay(SESSION, tools=lambda: [state_get, Workspace().state_patch])


def test_without_your_tools_the_journal_answers_for_them() -> None:
    """For tools that must not run in CI: what they returned is in the journal next to the cassette."""
    replayed = replay(SESSION)
    assert replayed.run.completed


def main() -> None:
    """Run the tests without pytest."""
    for test in (
        test_the_release_is_set_to_ready,
        test_a_tool_that_was_reworded_is_noticed,
        test_without_your_tools_the_journal_answers_for_them,
    ):
        test()
        print(f"{test.__name__}: passed")


if __name__ == "__main__":
    main()
