"""An MCP server without manners, and without the SDK, so that it starts at once.

It has one tool, whose call it answers in the way that the call or the first argument of the process names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

WAY = sys.argv[1] if __name__ == "__main__" else ""
MEGABYTE = "x" * 1_000_000
CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
NOTICE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
ANNOUNCED: list[bool] = []
PAGES: list[None] = []


def main() -> None:
    begin()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            ANSWERS.get(message["method"], unknown)(message)


def unknown(message: dict[str, Any]) -> None:
    """What a server of before 2026-07-28 answers to the question that newer ones begin with."""
    error = {"code": -32601, "message": "Method not found"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)


def initialized(message: dict[str, Any]) -> None:
    if WAY == "spread":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}, indent=2), flush=True)
        return
    about = {"name": "rude", "version": "0"}
    version = message["params"]["protocolVersion"]
    if WAY != "mute":
        tell(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})


def listed(message: dict[str, Any]) -> None:
    if ANNOUNCED:
        return
    PAGES.append(None)
    cursor = {"endless": f"page {len(PAGES)}", "same_cursor": "more"}.get(WAY)
    tell(message, {"tools": None if WAY == "null" else tools(), **({"nextCursor": cursor} if cursor else {})})


def tools() -> list[dict[str, Any]]:
    """One tool, and with words in a file a second one, which they describe."""
    schema = {"type": "object"}
    plain = {"name": "do", "inputSchema": schema}
    if WAY == "odd_tools":
        schemas: list[Any] = [{}, None, {"properties": {"a": {"type": "string"}}}, {"type": "string"}, []]
        listed = [{"name": f"t{at}", "inputSchema": each} for at, each in enumerate(schemas)]
        odd = {"name": "a", "inputSchema": schema, "annotations": [], "icons": ["x"], "description": 5}
        odd |= {"_meta": 5, "title": None}
        wrong = {"type": "object", "properties": [], "required": True}
        looks = {"name": "b", "inputSchema": wrong, "description": "Look.", "execution": 7}
        outputs = {**plain, "name": "out", "outputSchema": {}}
        return [plain, *listed, odd, looks, outputs, {"name": "none"}, {"inputSchema": {}}]
    if WAY != "words":
        return [plain]
    with open(sys.argv[2]) as words:
        return [plain, {"name": "fickle", "description": words.read(), "inputSchema": schema}]


def begin() -> None:
    if WAY == "chatty":
        print("Welcome!\n\n{not json}", flush=True)
        print("w" * 200_000, file=sys.stderr, flush=True)
    elif WAY == "once" and os.path.exists(sys.argv[2]):
        time.sleep(60)
    elif WAY == "broken":
        sys.exit("no such database")
    elif WAY in ("once", "noted"):
        note(os.getpid())
    elif WAY == "strays":
        stray()
    elif WAY == "strays_mute":
        stray()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)


def stray() -> None:
    """Start a process in a session of its own, which starts another one in another session."""
    sleeper = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"]
    starter = (
        "import subprocess, time; "
        f"print(subprocess.Popen({sleeper}, start_new_session=True).pid, flush=True); time.sleep(600)"
    )
    child = subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", starter],
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert child.stdout
    note(os.getpid(), child.pid, int(child.stdout.readline()))


def note(*pids: int) -> None:
    with open(sys.argv[2], "w") as file:
        file.write(" ".join(map(str, pids)))


def called(message: dict[str, Any]) -> None:
    if WAY == "words" and message["params"]["name"] == "do":
        sys.exit(7)
    CALLS.get(message["params"]["arguments"].get("way", WAY), done)(message)


def announces(message: dict[str, Any]) -> None:
    """Say that the tools have changed, and from now on nothing about them."""
    ANNOUNCED.append(True)
    print(CHANGED)
    done(message)


def done(message: dict[str, Any]) -> None:
    tell(message, text("done"))


def endless(line: str) -> Way:
    """Write a line again and again."""

    def write(_: dict[str, Any]) -> None:
        while True:
            sys.stdout.write(line)

    return write


def large(message: dict[str, Any]) -> None:
    tell(message, text(MEGABYTE * 2))


def large_backwards(message: dict[str, Any]) -> None:
    result = text(MEGABYTE * 2)
    print(json.dumps({"result": result, "jsonrpc": "2.0", "id": message["id"]}), flush=True)


def closes(_: dict[str, Any]) -> None:
    os.close(1)
    time.sleep(60)


def raw(form: str) -> Way:
    """Write a line in which the id of the request is filled in."""

    def write(message: dict[str, Any]) -> None:
        done = json.dumps(text("done"))
        line = form.replace("ID", str(message["id"])).replace("DONE", done)
        sys.stdout.buffer.write(line.encode("latin-1") + b"\n")
        sys.stdout.buffer.flush()

    return write


def unknown_block(message: dict[str, Any]) -> None:
    blocks: list[Any] = [
        {"type": "text", "text": "before"},
        {"type": "video", "data": "x" * 2_000},
        {"type": "text", "text": "annotated", "annotations": {"priority": 5}},
        {"type": "image", "data": "eHh4"},
        5,
        {"type": "text", "text": "after"},
    ]
    tell(message, {"content": blocks, "structuredContent": [1]})


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def tell(message: dict[str, Any], result: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


Way: TypeAlias = Callable[[dict[str, Any]], None]

ANSWERS: Mapping[str, Way] = {"initialize": initialized, "tools/list": listed, "tools/call": called}
CALLS: Mapping[str, Way] = {
    "announces": announces,
    "closes": closes,
    "keeps_announcing": endless(f"{CHANGED}\n"),
    "once": lambda _: sys.exit(7),
    "floods": endless("no message\n"),
    "large": large,
    "large_backwards": large_backwards,
    "never": lambda _: None,
    "no_end": endless(MEGABYTE),
    "nonsense": lambda message: tell(message, {"content": "not a list"}),
    "notices": endless(f"{NOTICE}\n"),
    "pid": lambda message: tell(message, text(str(os.getpid()))),
    "unknown_block": unknown_block,
    "cut_off": raw('{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"te'),
    "bad_error": raw('{"jsonrpc":"2.0","id":ID,"error":"no"}'),
    "no_result": raw('{"jsonrpc":"2.0","id":ID}'),
    "null_id": raw('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"I cannot read it."}}'),
    "result_is_text": raw('{"jsonrpc":"2.0","id":ID,"result":"done"}'),
    "wrapped": raw('{\n  "jsonrpc": "2.0",\n  "id": ID,\n  "result": DONE\n}'),
    "marked": raw('\xef\xbb\xbf{"jsonrpc":"2.0","id":ID,"result":DONE}\r'),
    "no_version": raw('{"id":ID,"result":DONE}'),
    "id_as_text": raw('{"jsonrpc":"2.0","id":"ID","result":DONE}'),
    "error_id_as_text": raw('{"jsonrpc":"2.0","id":"ID","error":{"code":-1,"message":"no"}}'),
    "not_utf_8": raw('{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done \xff"}]}}'),
    "half": raw('{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done \\ud800"}]}}'),
    "batch": raw('[{"jsonrpc":"2.0","id":ID,"result":DONE}]'),
    "nan": raw(
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}],"_meta":{"a":NaN}}}'
    ),
}

if __name__ == "__main__":
    main()
