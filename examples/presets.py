"""One question to two providers: presets make the two requests, and say why they differ.

The catalogue at the end is a user's own, as a file would hold it: it adds a model to the shipped ones.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from toolreel import PythonTools
from toolreel.presets import shipped, with_files
from toolreel_core._plan import differences

OWN = """
[preset.patient]
about = "Waits longer for a server that is busy."
[preset.patient.config]
max_tries = 6

[model."my-lab/llama-tuned"]
patterns = ["my-lab/*"]
presets = ["content_tag_tool_call_fallback", "patient"]
"""


def status(path: str) -> str:
    """Look a value up.

    Args:
        path: Where the value stands, such as /release/status.
    """
    return f"draft at {path}"


def main() -> None:
    """Compose presets and show the result."""
    presets = shipped()
    tools = PythonTools([status]).surface
    for provider, model in (("openrouter", "deepseek/deepseek-v3.2:nitro"), ("ollama", "qwen3:8b")):
        preset = presets.for_(provider, model)
        plan = preset.plan(model=model, messages="Which status has the release?", tools=tools)
        calls = "the first call" if plan.calls_per_turn == 1 else "all calls"
        print(f"{preset.name}\n  options {plan.options}, {calls} of a reply run")

    print("\nfrom OpenRouter to Ollama:")
    for change in differences(presets.get("openrouter"), presets.get("ollama")):
        print(f"  {change.key}: {change.before} -> {change.after}")

    known = presets.recommendation("deepseek/deepseek-v3.2")
    assert known is not None
    print(f"\n{known.verdict}: {known.measured.rate:.0%} with {known.measured.profile}")

    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "own.toml")
        own.write_text(OWN, encoding="utf-8")
        mine = with_files([own]).for_("vllm", "my-lab/llama-tuned-2")
    print(mine.name)
    assert mine.changes()["config"]["max_tries"] == 6


if __name__ == "__main__":
    main()
