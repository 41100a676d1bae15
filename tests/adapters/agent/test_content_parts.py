"""Pictures, sound and files in one conversation: on every endpoint and driver, in every record."""

# ruff: noqa: ANN401 - settings are whatever an agent takes
from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any, cast

import pytest

from tests.adapters.agent.shop import WAYS
from tests.servers.chat_server import replying, serving
from toolreel import Agent, AgentRun, Audio, ConfigError, File, Image, attach, replay, tool
from toolreel._replay import Driver
from toolreel.journals import read_journal
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core import fold
from toolreel_core._conversation import Part
from toolreel_core._protocol import ToolReturned

CAT = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
SHOT = b"\xff\xd8\xff" + bytes(range(255, -1, -1)) * 8
BEEP = b"RIFF\0\0\0\0WAVE" + bytes(range(256)) * 4


@tool(read_only=True)
def screenshot(window: str) -> list[object]:
    """A screenshot of a window."""
    return [f"This is {window}:", Image.from_bytes(SHOT)]


SCRIPT = (calling(("screenshot", {"window": "mail"})), saying("A cat in a mail."), saying("A beep."))
FIRST: list[str | Part] = ["Is this cat", Image.from_bytes(CAT, detail="low"), "in my mail?"]
SECOND: list[str | Part] = [
    "And this?",
    Audio.from_bytes(BEEP),
    File.from_bytes(b"%PDF-1.7", name="bill.pdf"),
]


def talked(agent: Agent[Any], driver: Driver, **settings: Any) -> AgentRun[Any]:
    """The conversation, on a driver."""
    way = WAYS[driver]
    return way.run(way.run(agent, "run", FIRST, **settings), "reply", SECOND)


@pytest.mark.parametrize("driver", WAYS)
def test_a_recorded_conversation_replays_to_the_byte_and_has_each_blob_once(
    driver: Driver, tmp_path: Path
) -> None:
    with serving(*map(replying, SCRIPT)) as server:
        agent = Agent("m", base_url=server.url, tools=[screenshot])
        run = talked(agent, driver, record=tmp_path / "talk")
        sent = server.seen[-1].body.decode()
    for data in (CAT, SHOT, BEEP, b"%PDF-1.7"):
        assert sent.count(b64encode(data).decode()) == 1
    journal, cassette = tmp_path / "talk.journal.jsonl", tmp_path / "talk.yaml"
    drivers: set[Driver] = {"sync", driver}
    for other in drivers:
        again = replay(cassette, driver=other)
        assert again.run.state == run.state
        assert again.cassette is not None
    text, shown = journal.read_text("utf-8"), "".join(cassette.read_text("utf-8").split())
    for data in (CAT, SHOT, BEEP):
        assert text.count(b64encode(data).decode()) == 1
        assert shown.count(b64encode(data).decode()) == 1
    assert "!blobdata:image/png;base64,sha256:" in shown
    assert shown.index("interactions:") < shown.index("blobs:") < shown.index(b64encode(CAT).decode())


def test_a_part_that_the_provider_does_not_take_is_refused_before_the_request() -> None:
    agent = Agent("m", endpoint=ScriptedEndpoint([saying("Hi.")]), provider="deepseek")
    why = r"\[image/png, 2056 bytes, sha256:\w{8}\]: deepseek takes no images; leave it out"
    with pytest.raises(ConfigError, match=rf"^messages\[0\]: {why}"):
        agent.run(FIRST)
    run = agent.run("Hi!")
    with pytest.raises(ConfigError, match=rf"^content: {why}"):
        run.reply(FIRST)


def test_a_result_with_a_key_in_a_picture_is_withheld(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345")

    def leak() -> Image:
        """A picture."""
        return Image.from_bytes(CAT + b"abcdefgh12345")

    script = [calling(("leak", {})), saying("Hm.")]
    agent = Agent("m", endpoint=ScriptedEndpoint(script), tools=[leak])
    agent.run("Go.", record=tmp_path / "leak")
    recorded = read_journal(tmp_path / "leak.journal.jsonl")
    (result,) = [event for event in recorded.events if isinstance(event, ToolReturned)]
    assert result.parts == ()
    assert "withheld" in result.output


def test_files_become_what_they_are(tmp_path: Path) -> None:
    for name, data in (("cat", CAT), ("beep.wav", BEEP), ("list.csv", b"a,b"), ("odd.bin", b"??")):
        (tmp_path / name).write_bytes(data)
    assert attach(tmp_path / "cat") == Image.from_bytes(CAT)
    assert attach(str(tmp_path / "beep.wav")) == Audio.from_bytes(BEEP)
    assert attach(tmp_path / "list.csv") == File.from_bytes(b"a,b", "text/csv", name="list.csv")
    odd = attach(tmp_path / "odd.bin", media_type="text/plain")
    assert odd.label.startswith("[file odd.bin, text/plain, 2 bytes")
    with pytest.raises(ConfigError, match=r"nothing says what odd\.bin is; write its type"):
        attach(tmp_path / "odd.bin")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        attach(tmp_path / "none.png")


def test_nothing_that_is_shown_has_the_bytes(tmp_path: Path) -> None:
    agent = Agent("m", endpoint=ScriptedEndpoint(SCRIPT), tools=[screenshot])
    run = talked(agent, "sync", record=tmp_path / "talk")
    shown = [
        repr(run),
        str(cast("Any", run)._repr_html_()),
        repr(run.messages),
        repr(agent.plan(FIRST)),
        repr(run.notes),
    ]
    recorded = read_journal(tmp_path / "talk.journal.jsonl")
    shown += [repr(recorded.events), repr(fold(recorded.plan, recorded.events).state.plan)]
    for text in shown:
        assert "iVBORw0" not in text
        assert "\\x89PNG" not in text
    assert "Image([image/png, 2056 bytes, sha256:" in shown[2]
