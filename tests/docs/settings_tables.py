"""The tables of an evaluation's settings: ``python -m tests.docs.settings_tables`` writes them.

docs/plan-keys.md has each key of a plan, docs/case-study.md each environment variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs.snippets import ROOT
from toolreel_core.evals import SETTINGS, Endpoint, Options, Setting

__all__ = ["PAGES_WITH_SETTINGS", "written"]

PAGES_WITH_SETTINGS: Final = (ROOT / "docs" / "plan-keys.md", ROOT / "docs" / "case-study.md")
_PLACE: Final = re.compile(r"<!-- (keys|variables) -->\n.*?(?=<!-- /\1 -->)", re.DOTALL)


_OTHER_VARIABLES: Final = {
    "OPENROUTER_API_KEY": "the key, at OpenRouter and at OPENROUTER_BASE_URL",
    "OPENROUTER_REPORT_DIR": "the directory of `eval summarize`, if none is given",
    "OPENROUTER_HTTP_ADAPTER": "nothing: requests are sent with httpx",
    "OPENROUTER_FULL": "1: eval.preset is full, unless another is given",
    "OPENROUTER_STRATEGY_MATRIX": "1: eval.strategies are baseline and production, unless they are given",
    "OPENROUTER_PRODUCTION_AUTO_SAMPLING_PROFILE": "1: eval.profiles is auto, unless they are given",
    "OPENROUTER_FALLBACK_MATRIX": "nothing: compare two strategies of your own, one with text_dialects = []",
}


def _keys() -> Iterator[str]:
    yield "| key | default | option | what it is |\n|---|---|---|---|\n"
    for each in SETTINGS:
        default = f"`{json.dumps(value)}`" if (value := _default(each)) is not None else "not set"
        option = f"`{each.option}`" if each.option else ""
        choices = f" One of {each.kind.replace('|', ', ')}." if "|" in each.kind else ""
        yield f"| `{each.place}` | {default} | {option} | {each.about}{choices} |\n"


def _default(setting: Setting) -> object:
    table, _, name = setting.place.partition(".")
    of_field = getattr({"eval": Options(), "endpoint": Endpoint()}.get(table), name, None)
    return {} if setting.kind in {"texts", "object"} else of_field or None


def _variables() -> Iterator[str]:
    yield "| variable | key of the plan, or what it does |\n|---|---|\n"
    for name, about in _OTHER_VARIABLES.items():
        yield f"| `{name}` | {about} |\n"
    for each in SETTINGS:
        if each.variable:
            yield f"| `{each.variable}` | `{each.place}` |\n"


def written(page: str) -> str:
    """The page with the tables of the code."""
    tables = {"keys": _keys, "variables": _variables}
    return _PLACE.sub(lambda found: "".join((f"<!-- {found[1]} -->\n", *tables[found[1]]())), page)


def _write(page: Path) -> None:
    page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for each in PAGES_WITH_SETTINGS:
        _write(each)
