"""``toolreel fork``: from a record, from another one, and against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import WORKSPACE, assert_mistake, said_by_each, toolreel
from tests.replay.sessions import cassette
from tests.servers.chat_server import replying, serving
from toolreel._journal import journal_path, read_journal
from toolreel.testing import calling, saying

SESSION = str(cassette("workspace"))
JOURNAL = str(journal_path(cassette("workspace")))
FORK = ("fork", SESSION)
APPROVED = (
    "from toolreel import Tool\n"
    'def greet(name: str) -> str:\n    """Greet."""\n    return f"Hello, {name}."\n'
    "TOOLS = [Tool.of(greet, needs_approval=True)]\n"
)


def body(answered: bytes) -> dict[str, object]:
    tree: dict[str, object] = json.loads(answered)
    return tree


def test_a_fork_that_its_record_answers_is_shown_with_what_was_changed(tmp_path: Path) -> None:
    changes = ("--tool-result", '{"value":"ready"}', "--set", "temperature=0.5")
    said = toolreel(*FORK, "--at", "2", *changes, "--recorded", cwd=tmp_path)
    assert (said.code, said.stderr) == (0, "")
    lines = said.stdout.splitlines()
    assert lines[:4] == [
        f"forked      {JOURNAL} at 2 of 5 events",
        "changed     options.temperature",
        "            - 0",
        "            + 0.5",
    ]
    assert '            ← {"value":"ready"}' in lines
    assert lines[-2] == "outcome     completed: the model gave a final answer"


def test_a_live_fork_sends_what_was_kept_and_runs_the_tools_for_real(tmp_path: Path) -> None:
    reading = calling(("state_get", {"path": "/release/build"}))
    with serving(replying(reading), replying(saying("It is build 41."))) as server:
        changes = ("--tool-result", '{"value":"released","version":9}', "--model", "other")
        said = toolreel(
            *(*FORK, "--at", "2", *changes, *WORKSPACE),
            *("--base-url", server.url, "--api-key-env", "MY_KEY", "--record", "kept/fork"),
            cwd=tmp_path,
            env={"MY_KEY": "correct-horse"},
        )
    assert said.code == 0, said
    assert said.stderr.splitlines() == [
        "turn 2: waiting for the model",
        "turn 2: running state_get",
        "turn 3: waiting for the model",
    ]
    sent = [body(seen.body) for seen in server.seen]
    assert [(tree["model"], len(tree["messages"])) for tree in sent] == [("other", 4), ("other", 6)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert '\\"value\\":\\"released\\"' in server.seen[0].body.decode()
    lines = said.stdout.splitlines()
    assert '            ← {"path":"/release/build","value":41,"version":7}' in lines
    assert "answer      It is build 41." in lines
    assert lines[-2:] == [
        "saved       kept/fork.journal.jsonl",
        f"            next: toolreel explain {JOURNAL} kept/fork.journal.jsonl",
    ]

    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["fork.journal.jsonl"]
    kept = read_journal(tmp_path / "kept/fork.journal.jsonl")
    assert kept.plan.tools == read_journal(Path(JOURNAL)).plan.tools
    further = ("fork", "kept/fork", "--at", "4", "--recorded", "--json")
    again, different, forked = said_by_each(
        [("replay", "kept/fork"), ("explain", SESSION, "kept/fork"), further], tmp_path
    )
    assert again.code == 0
    assert "identical on sync: 5 events" in again.stdout
    assert different.code == 1
    assert "plan        model\n" in different.stdout
    assert "differs at  event 2, turn 1" in different.stdout
    assert (forked.code, forked.data["detail"]["content"]) == (0, "It is build 41.")


def test_a_live_fork_that_keeps_nothing_has_a_cassette_as_well(tmp_path: Path) -> None:
    with serving(replying(saying("Done"))) as server:
        live = ("--base-url", server.url, *WORKSPACE, "--record", "kept", "--json")
        said = toolreel(*FORK, "--at", "0", "--prompt", "Say Done.", *live, cwd=tmp_path)
    assert said.data["saved"] == ["kept.yaml", "kept.journal.jsonl"]
    assert said.data["fork"]["kept"] == 0
    (changed,) = said.data["fork"]["changed"]
    assert (changed["place"], changed["new"]) == ("messages[1].content", '"Say Done."')
    again = toolreel("replay", "kept", cwd=tmp_path)
    assert again.code == 0, again


def test_a_tool_that_needs_approval_is_not_run_where_nobody_is_there(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(APPROVED)
    call = calling(("greet", {"name": "Ada"}))
    answers = (replying(call), replying(saying("No greeting.")), replying(saying("Hello, Ada.")))
    with serving(*answers) as server:
        live = ("--base-url", server.url, "--tools", "asking:TOOLS", "--json")
        run = ("run", "Greet Ada.", "--model", "m", "--record", "first", *live)
        denied, approved = said_by_each(
            [run, ("fork", "first", "--at", "1", *live, "--approve", "always")], tmp_path
        )
    assert denied.data["detail"]["content"] == "No greeting."
    assert approved.data["detail"]["content"] == "Hello, Ada."
    assert approved.data["fork"]["changed"] == []


def test_another_record_answers_from_the_same_place_on(tmp_path: Path) -> None:
    ready, empty = str(cassette("recovered")), str(cassette("empty-final"))
    there, back = said_by_each(
        [
            ("fork", empty, "--at", "5", "--set", "fix_empty_final=true", "--from", ready, "--json"),
            ("fork", ready, "--at", "2", "--from", empty, "--record", "kept/part"),
        ],
        tmp_path,
    )
    assert (there.code, there.data["outcome"], there.data["fork"]["stop"]) == (0, "completed", None)
    assert back.code == 3
    assert "stopped     at event 6: the record has no event 6" in back.stdout
    assert back.stderr.startswith("error: the fork stopped before its end")
    assert "saved       kept/part.journal.jsonl" in back.stdout
    with serving(replying(saying("All done."))) as server:
        live = ("--base-url", server.url, *WORKSPACE, "--json")
        said = toolreel("fork", "kept/part", "--at", "5", *live, cwd=tmp_path)
    assert (said.code, said.data["detail"]["content"]) == (0, "All done.")


def test_a_fork_is_replaced_only_when_asked_and_never_holds_a_secret(tmp_path: Path) -> None:
    (tmp_path / "kept.yaml").write_text("an old cassette\n")
    base = (*FORK, "--at", "2", "--recorded", "--record", "kept", "--json")
    secret = ("--overwrite", "--tool-result", '"sk-' + "Zx9" * 10 + '"')
    taken, replaced, refused, replayed = said_by_each(
        [base, (*base, "--overwrite"), (*base, *secret), ("replay", "kept", "--json")], tmp_path
    )
    assert_mistake(taken, "kept.yaml exists already", "--overwrite")
    assert replaced.data["saved"] == ["kept.journal.jsonl"]
    assert_mistake(
        refused, "kept.journal.jsonl: not written, it would hold what looks like a secret: API key"
    )
    assert "Zx9" not in refused.stderr
    assert replayed.code == 0
    assert [file.name for file in tmp_path.iterdir()] == ["kept.journal.jsonl"]
