"""The table of variables in docs/case-study.md: ``python -m tests.docs.variables_table`` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tests.docs.snippets import ROOT
from toolreel_core.evals import VARIABLES

__all__ = ["OTHERS", "PAGE", "written"]

PAGE: Final = ROOT / "docs" / "case-study.md"
_PLACE: Final = re.compile(r"(?<=<!-- variables -->\n).*?(?=<!-- /variables -->)", re.DOTALL)

_VALUES: Final = {
    "str": "a text",
    "_seconds": "seconds; 0 for no limit",
    "_whole": "a whole number",
    "_number": "a number",
    "_switch": "`1` or `0`",
    "_verbosity": "`0`, `1` or `2`",
    "_words": "names, with commas",
    "_tools": "names, with commas; `all`",
    "_transforms": "names, with commas; `auto`, `none`",
    "_object": "a JSON object",
}
"""What each reader of a variable takes."""

OTHERS: Final = {
    "OPENROUTER_API_KEY": "the key; `OPENROUTER_API_KEY_…` if `api_key_env` names it",
    "OPENROUTER_REPORT_DIR": "the directory, for `eval run` and `eval summarize`",
    "OPENROUTER_EVAL_PRESET": "`eval.preset`: `smoke`, `typical`, `extreme` or `full`",
    "OPENROUTER_FULL": "`1`: the preset `full`",
    "OPENROUTER_STRATEGY_MATRIX": "`1`: `eval.strategies` is `baseline, production`",
    "OPENROUTER_PRODUCTION_AUTO_SAMPLING_PROFILE": "`1`: `eval.profiles` is `auto`, if nothing else is said",
    "OPENROUTER_REQUEST_OVERRIDES_JSON": "`request_overrides`: a JSON object, over the variables above",
    "OPENROUTER_HTTP_ADAPTER": "only `httpx`; others are refused",
    "OPENROUTER_FALLBACK_MATRIX": "refused: write a strategy with `text_dialects = []`",
}
"""Variables that are more than one key of a plan."""


def _rows() -> Iterator[str]:
    yield "| variable | key of the plan, and value |\n|---|---|\n"
    for name, (reader, key) in VARIABLES.items():
        yield f"| `{name}` | `{key}`: {_VALUES[reader.__name__]} |\n"
    for name, about in OTHERS.items():
        yield f"| `{name}` | {about} |\n"


def written(page: str) -> str:
    """The page with the table of the code."""
    return _PLACE.sub(lambda _: "".join(_rows()), page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
