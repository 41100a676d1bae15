"""``toolreel tools``, and the masks of ``toolreel run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.cli.commands import READY, WORKSPACE, Said, assert_mistake, said_by_each, toolreel
from tests.servers.chat_server import replying, serving
from toolreel.testing import calling

MODULE: Final = '''
from toolreel import Tool

def read(path: str) -> str:
    """Read a file."""
    print("noise")
    return path

def remove(path: str) -> str:
    """Remove a file."""
    return path

print("more noise")
TOOLS = [
    Tool.of(read, name="files.read", read_only=True, deadline_ms=1500),
    Tool.of(remove, name="files.remove", needs_approval=True, exposed=False, polling=True),
]
ALSO = [Tool.of(remove, name="files_read")]
MANY = [Tool.of(read, name=f"t{n}") for n in range(129)]
LONG = [Tool.of(read, name="long", description="x" * 500)]
BROKEN = lambda x: x

def odd() -> None: ...

# As a literal, Python 3.13 could not compile it.
odd.__doc__ = "Half a face: \\ud83d."
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path


def listing(here: Path, *options: str) -> Said:
    return toolreel("tools", "--tools", "mine:TOOLS", *options, cwd=here)


def test_the_surface_is_shown_tool_by_tool(here: Path) -> None:
    said = listing(here)
    data = listing(here, "--json").data
    sizes = [tool["bytes"] for tool in data["tools"]]
    assert said.code == 0
    assert [line.split() for line in said.stdout.splitlines()] == [
        ["tool", "bytes", "flags", "deadline", "source"],
        ["files.read", "(files_read)", str(sizes[0]), "read-only", "1500", "ms", "mine:TOOLS"],
        [
            *("files.remove", "(files_remove)", str(sizes[1])),
            *("polling,", "approval,", "hidden", "-", "mine:TOOLS"),
        ],
        ["sent", "1", "of", "at", "most", "128", "tools"],
        [str(data["sent"]["bytes"]), "of", "at", "most", "200000", "bytes"],
        ["fingerprint", data["fingerprint"]],
    ]
    assert said.stderr == "more noise\n"


def test_json_has_the_same_for_machines(here: Path) -> None:
    data = listing(here, "--json", "--allow", "files.*", "--deny", "*remove").data
    (tool,) = data["tools"]
    assert (tool["name"], tool["outward"], tool["source"]) == ("files.read", "files_read", "mine:TOOLS")
    assert (tool["flags"], tool["deadline_ms"]) == (["read-only"], 1500)
    assert data["masked"] == ["files.remove"]
    assert data["sent"] == {"count": 1, "bytes": tool["bytes"] + 2}
    assert data["limits"] == {"count": 128, "bytes": 200_000}
    assert data["fingerprint"] != listing(here, "--json").data["fingerprint"]


def test_what_takes_the_room_is_shown_by_source_and_by_size(here: Path) -> None:
    options = ("tools", "--tools", "mine:TOOLS", "--tools", "mine:LONG", "--by-size")
    said, data = (toolreel(*options, *more, cwd=here) for more in ((), ("--json",)))
    short, _, long = data.data["tools"]
    assert data.data["sources"] == [
        {"source": "mine:LONG", "count": 1, "bytes": long["bytes"]},
        {"source": "mine:TOOLS", "count": 1, "bytes": short["bytes"]},
    ]
    lines = [" ".join(line.split()) for line in said.stdout.splitlines()]
    assert [line.split()[0] for line in lines[:4]] == ["tool", "long", "files.read", "sent"]
    assert lines[-3:-1] == [
        f"most from mine:LONG (1 tool, {long['bytes']} bytes)",
        f"mine:TOOLS (1 tool, {short['bytes']} bytes)",
    ]


def test_the_fingerprint_is_the_same_under_any_hash_seed(here: Path) -> None:
    commands = ("tools", "--tools", "mine:TOOLS", "--json")
    said = [toolreel(*commands, cwd=here, env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert said[0] == said[1]


def test_masked_tools_are_named(here: Path) -> None:
    masked = listing(here, "--deny", "files_read")
    assert "masked      files.read" in masked.stdout.splitlines()
    everything = listing(here, "--deny", "*").stdout.splitlines()
    assert everything[0] == "masked      files.read, files.remove"
    assert everything[1] == "sent        0 of at most 128 tools"


def test_a_users_mistake_is_told(here: Path) -> None:
    unknown, clash, untyped, unsendable, none = said_by_each(
        [
            ("tools", "--tools", "mine:TOOLS", "--deny", "files.raed"),
            ("tools", "--tools", "mine:TOOLS", "--tools", "mine:ALSO"),
            ("tools", "--tools", "mine:BROKEN"),
            ("tools", "--tools", "mine:odd"),
            ("tools",),
        ],
        here,
    )
    assert_mistake(unknown, "deny: there is no tool 'files.raed'; did you mean 'files.read'?")
    assert_mistake(clash, "'files.read' (source 'mine:TOOLS')", "'files_read' (source 'mine:ALSO')", "rename")
    assert_mistake(untyped, "has no name that a model could call")
    assert_mistake(unsendable, "tool 'odd': description: holds a lone surrogate, which cannot be sent")
    assert_mistake(none, "--tools")


def test_too_large_a_surface_is_shown_and_refused(here: Path) -> None:
    said = toolreel("tools", "--tools", "mine:MANY", cwd=here)
    assert said.code == 2
    assert "sent        129 of at most 128 tools" in said.stdout.splitlines()
    assert "max_tool_definitions_count: 129 tools would be sent, the limit is 128" in said.stderr


PATCH: Final = calling(("state_patch", {"path": "/release/status", "value": "x", "version": 7}))


def test_a_run_neither_sends_nor_runs_what_is_denied_and_replays(tmp_path: Path) -> None:
    with serving(replying(PATCH), replying(READY)) as server:
        said = toolreel(
            *("run", "Patch it.", "--model", "m", "--base-url", server.url, *WORKSPACE),
            *("--deny", "*_patch", "--record", "denied", "--json"),
            cwd=tmp_path,
        )
    assert said.code == 0
    sent = json.loads(server.seen[0].body)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["state_get"]
    (call,) = said.data["turns"][0]["calls"]
    assert not call["ok"]
    assert call["result"].startswith("TOOL_NOT_ALLOWED: state_patch was not run")
    for tools in ((), WORKSPACE):
        assert toolreel("replay", "denied", *tools, cwd=tmp_path).code == 0


def test_a_run_may_be_told_what_is_allowed(tmp_path: Path) -> None:
    with serving(replying(READY)) as server:
        where = ("--model", "m", "--base-url", server.url, *WORKSPACE)
        said = toolreel("run", "Hi.", *where, "--allow", "state_get", cwd=tmp_path)
        assert "tools       state_get" in said.stdout.splitlines()
        wrong = toolreel("run", "Hi.", *where, "--allow", "state_gte", cwd=tmp_path)
    assert_mistake(wrong, "allow: there is no tool 'state_gte'; did you mean 'state_get'?")
