"""The dialects of text calls, as data.

A *marked* dialect opens its calls with a marker that prose does not contain by accident, so all of them are
the default wherever tools are offered. A *bare* one is a whole message that could also be an answer: JSON, a
list, a code fence. Enable it only for models known to write it.
"""

from __future__ import annotations

import re

from toolreel_core._lazy_pattern import lazy_pattern

MARKED = (
    # JSON inside tags and tokens
    "hermes_json",
    "longcat_json",
    "granite_json",
    "granite20b_fc",
    "phi4_json",
    "functools_json",
    "nemotron_toolcall",
    "tool_calls_json",
    "cohere_action",
    "apertus_json",
    "internlm_plugin",
    "gigachat_fc",
    "solar_open",
    "plamo_requests",
    "inkling_blocks",
    "lmstudio_request",
    "function_tag_json",
    "deepseek_v3",
    "deepseek_v31",
    "kimi_k2",
    "mistral_tool_calls",
    "llama_python_tag",
    "harmony",
    "qwen_agent_flower",
    # one element for each parameter
    "qwen_xml",
    "seed_xml",
    "glm_xml",
    "hunyuan_xml",
    "ifm_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "invoke_xml",
    "xai_function_call",
    "minicpm5_xml",
    "steptml",
    "dsml",
    "kimi_k3_xtml",
    # Python, and grammars of their own
    "pythonic_marked",
    "functiongemma",
    "gemma4",
)
"""Dialects whose calls begin with a marker."""

BARE = (
    "llama_json",
    "json_envelope",
    "json_array",
    "json_fenced",
    "glm4_name_json",
    "functionary_v32",
    "cohere_action_fence",
    "react",
    "tool_tag_xml",
    "pythonic_list",
    "tool_code_fence",
)
"""Dialects that are read only as a whole message, and only for tools that exist."""

DIALECTS = (*MARKED, *BARE)


def abbreviated_dialect_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of dialects with one word for all that are marked, which settings take too."""
    for place in range(len(names) - len(MARKED) + 1):
        end = place + len(MARKED)
        if names[place:end] == MARKED:
            return (*names[:place], "marked", *names[end:])
    return names


_THINK = lazy_pattern(
    r"<(?:seed:|mm:)?think(?:ing)?>|<(?:thought|reasoning|scratch_pad)>|\[THINK\]|<\|START_THINKING\|>"
    r"|◁think▷|<\|channel\|?>(?:analysis|thought)\b"
    r"|</(?:seed:|mm:)?think(?:ing)?>|</(?:thought|reasoning|scratch_pad)>|\[/THINK\]|<\|END_THINKING\|>"
    r"|◁/think▷",
    re.IGNORECASE,
)
"""Openers of reasoning, which count at the head of a text, and closers, which count anywhere."""
# The decoders take long to import, so a plain answer must not need them. `=` is in `to=`, which may be all
# that is left of a Harmony header; `✿` and `◁` begin marks of Qwen-Agent and tags of reasoning. A call in
# Python needs none of them only if it has no arguments.
_DRAWN = frozenset("<[{=✿◁")
# How a message in a bare dialect can begin: a cheap look before all of them are tried.
WHOLE = ("{", "[", "<", "```", "~~~", "Action:", "Thought:")


def is_free_of_markup(text: str) -> bool:
    """Whether a text has none of the characters that the markup of calls or of reasoning needs."""
    return _DRAWN.isdisjoint(text) and "()" not in text and not text.lstrip().startswith(WHOLE)


def has_think_tags(text: str) -> bool:
    """Whether a text begins with tagged reasoning, or has its closing tag anywhere."""
    if "<" not in text and "[" not in text and "◁" not in text:
        return False
    head = len(text) - len(text.lstrip())
    return any(
        found.start() == head or "/" in found[0] or "|END" in found[0].upper()
        for found in _THINK.finditer(text)
    )
