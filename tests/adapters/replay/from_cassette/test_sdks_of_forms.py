"""The openai SDK's Responses client and Anthropic's SDK: recorded, replayed, and made into journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.adapters.proxy.test_other_forms import ASKED, Messages, Responses, answer
from tests.samples import complaint
from tests.servers.chat_server import serving
from toolreel._internal import JournalError
from toolreel._replay import DRIVERS, recover_runs, replay
from toolreel.cassette import Session, use_cassette
from toolreel.testing import calling, saying
from toolreel_core import Completed

CALL = calling(("stock", {"part": "pin"}), text="Let me look.")


@pytest.mark.parametrize("client", [Responses, Messages])
@pytest.mark.parametrize("stream", [False, True])
def test_a_recorded_session_is_replayed_and_has_a_journal(
    tmp_path: Path, client: type[Responses | Messages], stream: bool
) -> None:
    def talk(session: Session, url: str) -> list[Any]:
        with httpx2.Client(transport=session.httpx2_transport()) as http:
            one = client(url, http)
            return [one.turn(stream=stream) for _ in range(2)]

    path, journal = tmp_path / "session.yaml", tmp_path / "it.journal.jsonl"
    script = [answer(client.form, body, stream=stream) for body in (CALL, saying("Yes."))]
    with serving(*script) as server, use_cassette(path, "record") as session:
        said = talk(session, f"{server.url}/v1")
    assert said == [("Let me look.", [("call_a", "stock", {"part": "pin"})]), ("Yes.", [])]
    with use_cassette(path) as session:
        assert talk(session, "http://replay.invalid/v1") == said
    (one,) = recover_runs(Session(path))
    assert one.run.outcome == Completed("Yes.")
    plan = one.recorded.plan
    assert (plan.provider.wire_form, plan.tools.names, plan.messages[-1].content) == (
        client.form,
        ("stock",),
        ASKED["content"],
    )
    journal.write_text(one.recorded.text, encoding="utf-8")
    for driver in DRIVERS:
        assert replay(journal, driver=driver).run.outcome == one.run.outcome


def test_a_conversation_that_the_server_keeps_has_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "session.yaml"
    with (
        serving(answer("responses", "Hello.", stream=False)) as server,
        use_cassette(path, "record") as session,
        httpx2.Client(transport=session.httpx2_transport()) as http,
    ):
        Responses(f"{server.url}/v1", http).turn(stream=False, previous_response_id="resp_0")
    assert "record with the whole input instead of previous_response_id" in complaint(
        JournalError, lambda: recover_runs(Session(path))
    )
