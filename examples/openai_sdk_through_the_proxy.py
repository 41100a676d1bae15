"""The openai SDK behind ``toolreel proxy``, which answers from recordings: no network and no key.

Nothing of toolreel is in the client, which may be in any language: all that it is told is a base URL.

Record again with ``toolreel proxy --upstream http://127.0.0.1:8091 --record FOLDER``.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Final

from openai import OpenAI, UnprocessableEntityError
from openai.types.chat import ChatCompletionMessageParam

RECORDINGS: Final = Path(__file__).parents[1] / "cassettes" / "openai-sdk"


@contextmanager
def replaying(folder: Path) -> Generator[str]:
    """The base URL of a proxy that answers from a folder."""
    command = (sys.executable, "-m", "toolreel", "proxy", "--replay", folder, "--port", "0")
    with Popen([*map(str, command), "--quiet"], stderr=PIPE, text=True) as proxy:
        assert proxy.stderr is not None
        try:
            yield proxy.stderr.readline().rpartition(" ")[2].strip()
        finally:
            proxy.terminate()


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


def main() -> None:
    """Hold the conversation twice, and ask for something that was never recorded."""
    with replaying(RECORDINGS) as url, OpenAI(base_url=url, api_key="none") as client:
        for _ in range(2):
            answers = conversation(client)
            print(answers)
            assert "Oslo" in answers[0]
            assert "Stockholm" in answers[1]
        try:
            client.chat.completions.create(
                model="qwen2.5-coder-1.5b", messages=[{"role": "user", "content": "Hello!"}]
            )
        except UnprocessableEntityError as drift:
            print("\n".join(drift.message.splitlines()[:4]))


if __name__ == "__main__":
    main()
