"""What a cassette costs by its length, against stock vcrpy: saving, loading, and a request through httpx.

Each request repeats the whole conversation so far, as a tool loop's do. vcrpy is measured as its
users set it up for such requests, with ``match_on`` including the body, and left out where it takes
minutes.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import httpx
import vcr
from vcr.persisters.filesystem import FilesystemPersister
from vcr.request import Request
from vcr.serializers import yamlserializer

from toolreel.cassette import CassetteTransport, Session, use_cassette

LENGTHS = (10, 100, 1_000)
STOCK_LENGTHS = (10, 100)
URL = "http://127.0.0.1:1/v1/chat/completions"
HEADERS = {"content-type": "application/json"}


def bodies(count: int) -> list[bytes]:
    """Request bodies of one conversation, each two messages longer than the one before."""
    messages: list[dict[str, str]] = [{"role": "user", "content": "How many pins are in stock?"}]
    made = []
    for turn in range(count):
        made.append(json.dumps({"model": "m", "messages": messages}, separators=(",", ":")).encode())
        messages += [
            {"role": "assistant", "content": f"Let me look at shelf {turn}."},
            {"role": "user", "content": f"Shelf {turn} has {turn % 7} pins, says the list. Go on."},
        ]
    return made


def reply(request: httpx.Request) -> httpx.Response:
    """The answer of the recorded server."""
    text = f"Asked with {len(request.content)} bytes."
    return httpx.Response(200, json={"choices": [{"message": {"role": "assistant", "content": text}}]})


def send_all(client: httpx.Client, requests: list[bytes]) -> None:
    """Send the conversation."""
    for body in requests:
        client.post(URL, content=body, headers=HEADERS).raise_for_status()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cassette costs."""

    saving: float
    """Milliseconds."""
    loading: float
    each: float
    """Microseconds a request."""
    size: int
    """Bytes."""


def ours(folder: Path, requests: list[bytes]) -> Cost:
    """What toolreel's costs."""
    path = folder / f"ours-{len(requests)}.yaml"
    tape = Session(path, "record")
    with httpx.Client(transport=CassetteTransport(tape, httpx.MockTransport(reply))) as client:
        send_all(client, requests)
    saving = process_time()
    tape.save()
    begun = process_time()
    with use_cassette(path) as session, httpx.Client(transport=session.transport()) as client:
        loaded = process_time()
        send_all(client, requests)
        done = process_time()
    each = (done - loaded) / len(requests) * 1e6
    return Cost((begun - saving) * 1e3, (loaded - begun) * 1e3, each, path.stat().st_size)


def stock(folder: Path, requests: list[bytes]) -> Cost:
    """The same with vcrpy's own patching, serializer and matchers."""
    path = folder / f"stock-{len(requests)}.yaml"
    settings = vcr.VCR(match_on=["method", "scheme", "host", "port", "path", "query", "body"])
    sent, answers = [], []
    for body in requests:
        answer = reply(httpx.Request("POST", URL, content=body))
        said = {"status": {"code": 200, "message": "OK"}, "headers": {"content-type": ["application/json"]}}
        sent.append(Request("POST", URL, body, dict(HEADERS)))
        answers.append({**said, "body": {"string": answer.content}})
    saving = process_time()
    FilesystemPersister.save_cassette(path, {"requests": sent, "responses": answers}, yamlserializer)
    begun = process_time()
    with settings.use_cassette(str(path), record_mode="none"), httpx.Client() as client:
        loaded = process_time()
        send_all(client, requests)
        done = process_time()
    each = (done - loaded) / len(requests) * 1e6
    return Cost((begun - saving) * 1e3, (loaded - begun) * 1e3, each, path.stat().st_size)


def main() -> None:
    """Measure, and print a table."""
    print(
        f"{'requests':>9} {'':8} {'save, ms':>9} {'load, ms':>9} {'us of CPU a request':>20} {'file, kB':>9}"
    )
    with tempfile.TemporaryDirectory() as name:
        for count in LENGTHS:
            requests = bodies(count)
            rows = [("toolreel", ours(Path(name), requests))]
            if count in STOCK_LENGTHS:
                rows.append(("vcrpy", stock(Path(name), requests)))
            for who, cost in rows:
                print(
                    f"{count:>9,} {who:8} {cost.saving:>9,.1f} {cost.loading:>9,.1f} {cost.each:>20,.0f} "
                    f"{cost.size / 1e3:>9,.0f}"
                )


if __name__ == "__main__":
    main()
