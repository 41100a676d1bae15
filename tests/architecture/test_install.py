"""What installing rests on: two locks that agree, and a page that names every extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"^([\w.-]+==[^\s;]+)[^\n]*\\\n((?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE)
"""A requirement as uv writes it: name and version, and a line for each hash."""
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def pins(lock: str) -> dict[str, frozenset[str]]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return {pin: frozenset(re.findall(r"sha256:\w+", hashes)) for pin, hashes in PINNED.findall(text)}


def test_the_lock_of_the_demo_is_part_of_the_lock() -> None:
    demo, whole = pins("requirements-cli.lock"), pins("requirements.lock")
    assert {pin: whole.get(pin) for pin in demo} == demo
    assert len(demo) < len(whole) / 4
    names = {pin.partition("==")[0] for pin in demo}
    wanted = {re.split(r"\W", name)[0] for name in EXTRAS["cli"]} - {"toolreel"}
    assert wanted <= names, "the direct requirements of toolreel[cli]"


def test_all_is_every_extra_but_those_that_are_about_as_large_as_the_rest() -> None:
    (listed,) = EXTRAS["all"]
    named = set(listed.removeprefix("toolreel[").removesuffix("]").split(","))
    assert named == EXTRAS.keys() - {"all", "evals", "parquet"}


def test_the_page_says_what_each_extra_is_for_and_how_large_it_is() -> None:
    tasks, sizes = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").split("<!-- sizes: begin -->")
    in_tasks = {name for row in re.findall(r"\| `toolreel\[([\w,]+)]` \|", tasks) for name in row.split(",")}
    assert in_tasks == {*EXTRAS}
    megabytes = {name: int(size) for name, size in re.findall(r"\| `toolreel\[([\w,]+)]` \| (\d+) \|", sizes)}
    assert megabytes.keys() == {*EXTRAS, "all,evals"}
    # Half of what toolreel[all] was with statsmodels and pandas: the most that one extra may be.
    assert max(size for name, size in megabytes.items() if "," not in name) <= 261


def without(packages: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter that has none of these packages."""
    gone = f"import sys; sys.modules.update(dict.fromkeys({packages!r}))"
    return subprocess.run(
        [sys.executable, "-c", f"{gone}\n{code}"], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("package", "name", "extra", "lacks"),
    [
        ("toolreel.presets", "register_tokenizer", "tokens", "tokenizers"),
        ("toolreel.tools.skills", "read_skills", "skills", "yaml"),
        ("toolreel.http", "HttpEndpoint", "http", "httpx"),
        ("toolreel.proxy", "proxy_app", "proxy", "httpx"),
        ("toolreel.durable", "DurableRuns", "durable", "sqlalchemy"),
    ],
)
def test_an_error_names_the_extra_of_the_package_that_you_import(
    package: str, name: str, extra: str, lacks: str
) -> None:
    """A module that several packages share cannot know which of their extras you need."""
    done = without(["httpx", "sqlalchemy", "tokenizers", "vcr", "yaml"], f"from {package} import {name}")
    hint = f"{lacks} is not installed: it comes with the extra {extra!r}, pip install 'toolreel[{extra}]'"
    assert done.stderr.rstrip().endswith(f"MissingExtra: {hint}")
