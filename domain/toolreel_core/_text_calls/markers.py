"""Markers at which the scanner stops: openers of marked dialects, quotations, and tokens around calls.

Calls at the head of a message may have lost their opener, but not what follows their arguments: servers
remove tokens that they take for their own, and small models forget or garble them. A closer directly behind
the whole arguments of an offered tool shows that they are a call, as its opener would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Decoder, Reading, Source, TextCall
from toolreel_core._text_calls.elements import (
    BAR,
    CLOSING,
    DSML,
    DSML_INVOKE,
    GROK,
    INVOKE,
    OPENING,
    STEPTML_INVOKE,
    TAG_TOKEN,
    element_call,
    function_tag_call,
    minimax_m3_call,
    tool_call_block,
    xtml_call,
    xtml_channel,
)
from toolreel_core._text_calls.named_calls import (
    BUILTIN,
    CALL_BEGIN,
    CALLEE,
    NAMED_TAG,
    PLAMO,
    SOLAR,
    bracket_call,
    call_after_head,
    call_named_by_attribute,
    calls_by_tool_name_key,
    calls_in_code_block,
    deepseek_or_kimi_call,
    gemma_call,
    inkling_block,
    message_with_bare_recipient,
    message_with_header,
    mistral_calls,
    qwen_agent_call,
)
from toolreel_core._text_calls.payloads import (
    Block,
    Envelopes,
    closing_tag_pattern,
    enveloped_calls,
    marked_calls,
)
from toolreel_core._text_calls.quotations import QUOTATION_OPENERS as QUOTATIONS
from toolreel_core._text_calls.quotations import THOUGHT_OPENERS
from toolreel_core._text_calls.surroundings import lead_in_kind


@dataclass(frozen=True, slots=True)
class Opener:
    pattern: str
    dialects: tuple[str, ...]
    decoder: Decoder


def _block_opener(
    opener: str,
    closer: str,
    *dialects: str,
    decode: Callable[[Block, Source, int, int], Reading | None] = enveloped_calls,
    envelopes: Envelopes = marked_calls,
) -> Opener:
    block = Block(dialects, lazy_pattern(opener, re.IGNORECASE), closing_tag_pattern(closer), envelopes)
    return Opener(opener, dialects, partial(decode, block))


_TAGS = (
    "hermes_json",
    "granite_json",
    "qwen_xml",
    "glm_xml",
    "hunyuan_xml",
    "minimax_xml",
    "invoke_xml",
)

# A closer that is a look-ahead ends a block and leaves that marker to be read; `(?!)` never matches.
OPENERS: Mapping[str, Opener] = {
    "seed": Opener("<seed:tool_call>", ("seed_xml",), tool_call_block),
    "ifm": Opener(r"<ifm\|tool_call>", ("ifm_xml",), tool_call_block),
    "longcat": Opener("<longcat_tool_call>", ("longcat_json",), tool_call_block),
    "named_tag": Opener(NAMED_TAG, ("invoke_xml", "hermes_json"), call_named_by_attribute),
    "bracket": _block_opener(
        r"\[TOOL_CALL\](?=\s*\{)", r"\[/TOOL_CALL\]", "lmstudio_request", decode=bracket_call
    ),
    "tool_call": Opener(OPENING, _TAGS, tool_call_block),
    "function": Opener(
        r"<(?:\w{1,40}:)?function(?=\s*=|[\sĠĊ]+name\b)",
        ("qwen_xml", "seed_xml", "minicpm5_xml", "function_tag_json"),
        function_tag_call,
    ),
    "steptml": Opener(r"<steptml:invoke\b", ("steptml",), partial(element_call, STEPTML_INVOKE)),
    "dsml": Opener(rf"<{DSML}invoke\b", ("dsml",), partial(element_call, DSML_INVOKE)),
    "xai": Opener(r"<xai:function_call\b", ("xai_function_call",), partial(element_call, GROK)),
    "invoke": Opener(
        r"<(?:\w{1,40}:)?invoke\b", ("invoke_xml", "minimax_xml"), partial(element_call, INVOKE)
    ),
    "m3": Opener(rf"{TAG_TOKEN}<invoke\b", ("minimax_m3_xml",), minimax_m3_call),
    "xtml": Opener(r"<\|open\|>call\b", ("kimi_k3_xtml",), xtml_call),
    "channel": Opener(r"<\|open\|>(?:response|think|message)\w*<\|sep\|>", ("kimi_k3_xtml",), xtml_channel),
    "call_begin": Opener(CALL_BEGIN, ("kimi_k2", "deepseek_v31", "deepseek_v3"), deepseek_or_kimi_call),
    "mistral": _block_opener(
        r"\[TOOL_CALLS\]", r"\[/TOOL_CALLS\]|(?=\[TOOL_CALLS\])", "mistral_tool_calls", decode=mistral_calls
    ),
    "solar": _block_opener(
        r"<\|tool_call:begin\|>", r"<\|tool_call:end\|>", "solar_open", decode=partial(call_after_head, SOLAR)
    ),
    "plamo": _block_opener(
        r"<\|plamo:begin_tool_name:plamo\|>",
        r"<\|plamo:end_tool_arguments:plamo\|>",
        "plamo_requests",
        decode=partial(call_after_head, PLAMO),
    ),
    "flower": _block_opener(
        "✿FUNCTION✿", "(?=✿(?:RESULT|RETURN|FUNCTION)✿)", "qwen_agent_flower", decode=qwen_agent_call
    ),
    "python_tag": _block_opener(
        r"<\|python_tag\|>",
        r"<\|eo[mt]_id\|>",
        "llama_python_tag",
        decode=partial(calls_in_code_block, BUILTIN),
    ),
    "escape": _block_opener(
        "<start_function_call>",
        "<end_function_call>",
        "functiongemma",
        decode=partial(gemma_call, "<escape>"),
    ),
    "gemma4": _block_opener(
        r"<\|tool_call>", r"<tool_call\|>", "gemma4", decode=partial(gemma_call, '<|"|>')
    ),
    "message": Opener(r"<\|(?:start|channel)\|>", ("harmony", "invoke_xml"), message_with_header),
    "addressed": Opener("to=", ("harmony", "invoke_xml"), message_with_bare_recipient),
    # `content_invoke…` is the opener `inkling`, and `content_model_end…` a token of `SPECIAL`.
    "content": Opener(r"<\|content_(?!invoke|model_end)\w{1,40}\|>", ("inkling_blocks",), inkling_block),
    "tool_call_start": _block_opener(
        r"<\|tool_call_start\|>",
        r"<\|tool_call_end\|>",
        "pythonic_marked",
        decode=partial(calls_in_code_block, CALLEE),
    ),
    "python_start": _block_opener(
        r"<\|python_start\|>",
        r"<\|python_end\|>",
        "pythonic_marked",
        decode=partial(calls_in_code_block, CALLEE),
    ),
    "function_calls": _block_opener(
        "<function_calls>",
        "</function_calls>",
        "pythonic_marked",
        "invoke_xml",
        decode=partial(calls_in_code_block, CALLEE),
    ),
    "pipes": _block_opener(r"<\|tool_call\|>", r"<\|/tool_call\|>", "granite_json", "phi4_json"),
    "function_call": _block_opener("<function_call>", "</function_call>", "granite20b_fc"),
    "functools": _block_opener(r"(?<![\w.])functools(?=\[)", "(?!)", "functools_json"),
    "toolcall": _block_opener("<TOOLCALL>", "</TOOLCALL>", "nemotron_toolcall"),
    "tool_calls": _block_opener("<tool_calls>", "</tool_calls>", "tool_calls_json"),
    "action": _block_opener(r"<\|START_ACTION\|>", r"<\|END_ACTION\|>", "cohere_action"),
    "tools_prefix": _block_opener(
        r"<\|tools_prefix\|>", r"<\|tools_suffix\|>", "apertus_json", envelopes=calls_by_tool_name_key
    ),
    # SGLang expects a blank between the tokens, vLLM none.
    "plugin": _block_opener(r"<\|action_start\|>\s{0,9}<\|plugin\|>", r"<\|action_end\|>", "internlm_plugin"),
    "gigachat": _block_opener(
        r"(?:function call<\|role_sep\|>|<\|function_call\|>)", r"<\|message_sep\|>", "gigachat_fc"
    ),
    "inkling": _block_opener(r"<\|content_invoke_tool_json\|>", r"<\|end_message\|>", "inkling_blocks"),
    "request": _block_opener(r"\[TOOL_REQUEST\]", r"\[END_TOOL_REQUEST\]", "lmstudio_request"),
    "tool_use": _block_opener("<tool_use>", "</tool_use>", "invoke_xml"),
    "dots": _block_opener(r"<dots_function_calls?>", r"</dots_function_calls?>", "invoke_xml"),
}
"""The openers by key. The order matters: the first match counts, so special tags precede general ones
(``seed``, ``ifm`` and ``longcat`` before ``tool_call``, ``steptml`` and ``dsml`` before ``invoke``)."""

HEADLESS: Mapping[str, re.Pattern[str]] = {
    # A word in a line of its own may be all that is left: `leton` (NousResearch/hermes-agent#35129).
    "tool_call": lazy_pattern(r"\s*(?:(?P<word>[a-z]{1,20})[ \t]*\n\s*)?(?=\{)"),
    # A router stripped Kimi's openers (typeclaw/typeclaw#344).
    "call_begin": lazy_pattern(r"(?=\s*[^<>\n]{1,200}<\|tool_call_argument_begin\|>)"),
    # A small Gemma 4 forgot the opener and `call:` (mattn/tensai#217).
    "gemma4": lazy_pattern(r"(?=\s*(?:call:[ ]*)?[\w.:-]{1,200}\{)"),
}
"""The openers that may be missing at the head of a message, and what is there instead."""
_CLOSER = lazy_pattern(rf"(?:{CLOSING}|<\|tool_call(?:s?_section)?_end\|>|<tool_call\|>)", re.IGNORECASE)
_CLOSED = lazy_pattern(rf"[}}`]\s*{_CLOSER.pattern}\Z", re.IGNORECASE)


def calls_without_opener(source: Source, key: str) -> Reading | None:
    """The calls of offered tools at the head of a message, each closed; none if one cannot be read."""
    if source.search(_CLOSER, 0) is None:
        return None
    calls: list[TextCall] = []
    at = 0
    while head := HEADLESS[key].match(source.text, at):
        word = head["word"] if head.lastgroup else None
        reading = OPENERS[key].decoder(source, at, head.end())
        if (
            reading is None
            or not reading.calls
            or reading.rejected
            or not all(call.name in source.offered.names for call in reading.calls)
            # 80 characters hold the longest closer, with its suffix.
            or not _CLOSED.search(source.text[: reading.end][-80:])
            # A word such as `example` is a label, not a garbled tag.
            or (word and lead_in_kind(word) != "announced")
        ):
            return None
        calls.extend(reading.calls)
        at = reading.end
    return Reading(at, tuple(calls)) if calls else None


_NAMESPACE = rf"(?:\w{{1,40}}[:_|]|{DSML})?"

WRAPPER = lazy_pattern(
    rf"{OPENING}|{CLOSING}"
    rf"|(?:{TAG_TOKEN})?</?{_NAMESPACE}(?:function_calls?|tool_?calls?|calls|tool|tool_use)"
    r"(?::[^<>\s]{1,40})?\s*>"
    r"|</(?:\w{1,40}:)?(?:function|invoke|parameter|xai:function_call)\b[^<>\n]{0,80}>"
    # Step-3 writes `function` and a separator before its elements.
    rf"|<{BAR}tool[▁_ ]calls?[▁_ ](?:begin|end){BAR}>(?:function<{BAR}tool[▁_ ]sep{BAR}>)?"
    r"|<\|tool_calls?(?:_section_begin|_section_end|:end)?\|>|<\|/tool_call\|>"
    r"|<\|plamo:\w{1,40}:plamo\|>|<\|(?:open|close)\|>(?:tools|calls?)[^<>]{0,80}<\|sep\|>"
    r"|<\|tool_call_(?:start|end)\|>|<\|python_(?:start|end)\|>|<tool_call\|>"
    r"|\[/TOOL_CALLS\]|✿RETURN✿:?",
    re.IGNORECASE,
)
"""Tags and tokens around calls; next to a call, they are removed with it."""

SPECIAL = lazy_pattern(
    r"<\|(?:eom_id|eot_id|im_end|assistant|end|call|return|endoftext|end_of_text|begin_of_text|eot|eom|eos"
    r"|message_sep|role_sep|message_model|end_message|content_model_end_sampling|end_of_turn|end_of_msg"
    r"|(?:START|END)_(?:RESPONSE|TEXT)|(?:START|END)_OF_TURN_TOKEN|CHATBOT_TOKEN|flush|calls|content"
    r"|observation|assistant_(?:start|end)|inner_suffix|ifm\|im_(?:start|end)|plamo:\w{1,20}"
    # Kimi K3's tag `<|close|>response<|sep|>` fits between the bars of a token.
    r"|close\|>(?:response|think|message)\w{0,9}<\|sep)\|>"
    r"|<\|(?:im_start|begin)\|>(?:assistant)?|<\|start_header_id\|>\w{0,20}<\|end_header_id\|>"
    rf"|<{BAR}end▁of▁sentence{BAR}>"
    r"|<\|start_of_role\|>\w{0,20}<\|end_of_role\|>|<｜hy_\w{1,20}(?::[^<>\s]{1,40})?｜>"
    r"|</?s>|<eos>|<seed:eos>|<turn\|>|<(?:start|end)_of_turn>(?:model)?"
    # ERNIE and Hunyuan wrap answers in tags, Apriel in brackets; `[e~[` and `]~b]ai` are of MiniMax.
    r"|</?(?:response|answer)(?::[^<>\s]{1,40})?>|\[(?:BEGIN|END) FINAL RESPONSE\]"
    r"|\[e~\[|\]~!?b[\[\]]?\w{0,9}",
    re.IGNORECASE,
)
"""Control tokens of many models, which are never part of the visible text."""

_RESULT = (
    r"<(?:\w{1,20}[:_|])?(?:tool_response|function_results?|function_response|tool_results?|tool_outputs?"
    r"|start_function_response)(?::[^<>\s]{1,40})?(?:\s[^<>\n]{0,200})?>"
    r"|<\|(?:tool_response|START_TOOL_RESULT|tool_output)\|?>|\[TOOL_RESULTS\]"
    rf"|<{BAR}tool▁outputs?▁begin{BAR}>"
    # `(?<![^\n])` is the start of a line: as a part of `_MARKER`, this has no flag MULTILINE.
    r"|✿RESULT✿|(?<![^\n])Observation:"
)
"""Openers of tool results; after a call in the same text, the model invented the result."""

# Tokens and wrappers come last, because `WRAPPER` matches openers, too.
_MARKERS = {
    **QUOTATIONS,
    "think": THOUGHT_OPENERS,
    "result": _RESULT,
    **{key: opener.pattern for key, opener in OPENERS.items()},
    "special": SPECIAL.pattern,
    "wrapper": WRAPPER.pattern,
}
_MARKER = lazy_pattern("|".join(f"(?P<{key}>{pattern})" for key, pattern in _MARKERS.items()), re.IGNORECASE)


def marker_match_at(text: str, start: int) -> re.Match[str] | None:
    """The marker at a place; the name of its group says which."""
    return _MARKER.match(text, start)


# A cheap search, which makes plain text fast; each place that it finds is then compared with the markers.
# A marker that begins in none of these ways is never found. Letters are in the case that models write: to
# ignore it costs five times as much on prose, and no thread is known with `[tool_calls]` in small letters.
SIGNS = lazy_pattern(
    r"<[\w|｜‖!/]|\[[TBEe/cCqQ]|`|~~~|✿|\][<~]|\n[ \t]{0,3}>|\\begin\{|#\+[bB]"
    r"|functools\[|function call<|to=|Observation:"
)
