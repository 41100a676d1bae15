"""Show a run while it goes on, from a recording: ``python examples/stream_a_run.py``.

With a server, give ``HttpEndpoint(BASE_URL)`` instead, and the pieces come as the model writes them.
"""

from __future__ import annotations

from pathlib import Path

from toolreel import Ports, PythonTools, RunEnded, TextDelta, TextWithdrawn, read_journal, stream
from toolreel.cassette import ReplayTransport, replaying
from toolreel.http import HttpEndpoint

SESSION = Path(__file__).resolve().parents[1] / "cassettes" / "streamed" / "local--qwen2.5-coder-1.5b.yaml"


def main() -> None:
    """Print the text of the recorded run piece by piece."""
    plan = read_journal(SESSION.with_suffix(".journal.jsonl")).plan
    with (
        replaying(SESSION) as tape,
        HttpEndpoint("http://recorded.invalid", transport=ReplayTransport(tape)) as endpoint,
    ):
        for event in stream(plan, Ports(endpoint, PythonTools())):
            match event:
                case TextDelta(text=text):
                    print(text, end="", flush=True)
                case TextWithdrawn(text=text):
                    print(f"\n(not so; rather: {text})")
                case RunEnded(run=run):
                    print(f"\n{run.outcome}")
                case _:
                    pass


if __name__ == "__main__":
    main()
