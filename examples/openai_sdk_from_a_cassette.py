"""The openai SDK with its replies from a cassette: no network, no key, and nothing of it patched.

The SDK takes an HTTP client, and the client takes a transport. So code that was written long
before toolreel is recorded and replayed as it is. Newer releases of the SDK are built on httpx2;
for those on httpx, take ``session.transport()``.

Record again with ``python examples/openai_sdk_from_a_cassette.py http://127.0.0.1:8091/v1``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import httpx2
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from toolreel import ReplayMismatch
from toolreel.cassette import Session, use_cassette

CASSETTE: Final = Path(__file__).parents[1] / "cassettes" / "openai-sdk" / "local--qwen2.5-coder-1.5b.yaml"


def conversation(client: OpenAI) -> list[str]:
    """Two questions, the second of which only makes sense after the first."""
    messages: list[ChatCompletionMessageParam] = []
    answers: list[str] = []
    for question in ("What is the capital of Norway? One word.", "And of Sweden?"):
        messages.append({"role": "user", "content": question})
        completion = client.chat.completions.create(
            model="qwen2.5-coder-1.5b", messages=messages, temperature=0, seed=7, max_tokens=256
        )
        answers.append(str(completion.choices[0].message.content))
        messages.append({"role": "assistant", "content": answers[-1]})
    return answers


def talking_to(session: Session, base_url: str) -> OpenAI:
    """The SDK's client, with a session behind it; a retry would only ask a cassette twice."""
    http = httpx2.Client(transport=session.httpx2_transport(), timeout=300)
    return OpenAI(base_url=base_url, api_key="none", http_client=http, max_retries=0)


def record(base_url: str) -> None:
    """Hold the conversation for real, once."""
    with use_cassette(CASSETTE, "record") as session:
        print(conversation(talking_to(session, base_url)))


def main() -> None:
    """Hold it again without network, and ask for something that was never recorded."""
    with use_cassette(CASSETTE) as session:
        answers = conversation(talking_to(session, "https://anywhere.invalid/v1"))
    print(answers)
    assert "Oslo" in answers[0]
    assert "Stockholm" in answers[1]

    try:
        with use_cassette(CASSETTE) as session:
            client = talking_to(session, "https://anywhere.invalid/v1")
            client.chat.completions.create(model="another", messages=[{"role": "user", "content": "Hello!"}])
    except ReplayMismatch as drift:
        print("\n".join(str(drift).splitlines()[1:4]))


if __name__ == "__main__":
    record(sys.argv[1]) if len(sys.argv) > 1 else main()
