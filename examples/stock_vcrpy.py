"""A cassette of toolreel, played by stock vcrpy to clients that have never heard of toolreel.

Run it from a checkout; it needs no network. ``register`` is all that vcrpy has to be told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import httpx
import urllib3
import vcr
from vcr.record_mode import RecordMode

from toolreel.cassette._open_cassette import Recording
from toolreel.cassette.vcr import register

CASSETTE: Final = Path(__file__).parents[1] / "cassettes" / "workspace" / "local--qwen2.5-coder-1.5b.yaml"
HEADERS: Final = {"content-type": "application/json"}


def main() -> None:
    """Ask what was asked when the session was recorded, by httpx and by urllib3, as requests does."""
    asked = Recording.load(CASSETTE).exchanges
    player = register(vcr.VCR(record_mode=RecordMode.NONE, match_on=["toolreel"]))
    with player.use_cassette(str(CASSETTE)), httpx.Client() as client:
        for one in asked:
            answer = client.post(one.url, content=one.body, headers=HEADERS)
            print(f"httpx   HTTP {answer.status_code}, {len(answer.content)} bytes")
    with player.use_cassette(str(CASSETTE)):
        for one in asked:
            reply = urllib3.request(one.method, one.url, body=one.body, headers=HEADERS)
            print(f"urllib3 HTTP {reply.status}, {len(reply.data)} bytes")


if __name__ == "__main__":
    main()
