"""Calls as models write them as text, and the quotations in which they are only spoken of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext import JsonText

_OBJECT: Final = '{"name": "NAME", "arguments": ARGS}'
_M3: Final = "]<]minimax[>["
_WRITTEN: Final[Mapping[str, str]] = {
    "hermes_json": f"<tool_call>\n{_OBJECT}\n</tool_call>",
    "longcat_json": f"<longcat_tool_call>{_OBJECT}</longcat_tool_call>",
    "phi4_json": f"<|tool_call|>[{_OBJECT}]<|/tool_call|>",
    "functools_json": f"functools[{_OBJECT}]",
    "nemotron_toolcall": f"<TOOLCALL>[{_OBJECT}]</TOOLCALL>",
    "tool_calls_json": f"<tool_calls>[{_OBJECT}]</tool_calls>",
    "apertus_json": '<|tools_prefix|>[{"NAME": ARGS}]<|tools_suffix|>',
    "cohere_action": '<|START_ACTION|>[{"tool_name": "NAME", "parameters": ARGS}]<|END_ACTION|>',
    "internlm_plugin": '<|action_start|><|plugin|>\n{"name": "NAME", "parameters": ARGS}<|action_end|>',
    "solar_open": "<|tool_call:begin|>c1<|tool_call:name|>NAME<|tool_call:args|>ARGS<|tool_call:end|>",
    "lmstudio_request": f"[TOOL_REQUEST]{_OBJECT}[END_TOOL_REQUEST]",
    "function_tag_json": "<function=NAME>ARGS</function>",
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>ARGS"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi_k2": "<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>ARGS<|tool_call_end|>",
    "mistral_tool_calls": "[TOOL_CALLS]NAME[ARGS]ARGS",
    "harmony": "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>ARGS<|call|>",
}

SPOKEN_OF: Final = (
    "<tool_call><function=NAME><parameter=a>1</parameter></function></tool_call>",
    "<function=NAME></function>",
    "<tool_call>NAME<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
    "<tool_call>NAME</tool_call>",
    '<invoke name="NAME"><parameter name="a">1</parameter></invoke>',
    '<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="a">1</｜DSML｜parameter></｜DSML｜invoke>',
    '<|open|>call tool="NAME" index="1"<|sep|><|close|>call<|sep|>',
    f'{_M3}<invoke name="NAME">{_M3}<a>1{_M3}</a>{_M3}</invoke>',
    "<|tool_call_start|>[NAME(a=1)]<|tool_call_end|>",
    '<|tool_call>call:NAME{s:<|"|>v<|"|>,a:1}<tool_call|>',
    "<start_function_call>call:NAME{a:1}<end_function_call>",
    "<|python_tag|>NAME.call(a=1)<|eom_id|>",
)
"""Calls in dialects whose arguments are no JSON."""

DIALECTS_WRITTEN: Final = tuple(_WRITTEN)
"""Dialects in which any arguments can be written, since they are JSON there."""

QUOTATIONS: Final = (
    *("\n```\n{}\n```\n", "\n~~~~\n{}\n~~~~\n", "``{}``", "`{}`", "<!-- {} -->", "\n> {}\n"),
    *("<tool_response>{}</tool_response>", "<think>{}</think>", "\n- ```xml\n{}\n  ```\n"),
)
"""Where a call is only spoken of, whatever stands before and behind it."""


def written(dialect: str, name: str, arguments: JsonText) -> str:
    """A call as text."""
    before, _, after = _WRITTEN[dialect].replace("NAME", name).rpartition("ARGS")
    return f"{before}{arguments}{after}"
