"""Texts in pieces, in the forms in which providers stream them; calls come in turn with another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import Json

Pieces = Sequence[str]


def _events(trees: Sequence[Json]) -> str:
    return "".join(f"data: {json.dumps(tree)}\n\n" for tree in trees) + "data: [DONE]\n\n"


def _chat(pieces: Pieces) -> str:
    return _events([{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces])


def _reasoning(pieces: Pieces) -> str:
    return _events(
        [
            {"id": f"gen-{n}", "choices": [{"index": 0, "delta": {"reasoning": piece, "content": "-"}}]}
            for n, piece in enumerate(pieces)
        ]
    )


def _calls(pieces: Pieces) -> str:
    def call(index: int, text: str, n: int) -> Json:
        first: dict[str, Json] = {} if n else {"id": f"call_{index}", "type": "function"}
        return {"index": index, "function": {"arguments": text}, **first}

    frames: list[Json] = []
    for n, piece in enumerate(pieces):
        both: list[Json] = [call(0, "other ", n), call(1, piece, n)]
        deltas: list[list[Json]] = [both] if n % 2 else [both[:1], both[1:]]
        frames += [{"choices": [{"index": 0, "delta": {"tool_calls": delta}}]} for delta in deltas]
    return _events(frames)


def _calls_without_index(pieces: Pieces) -> str:
    return _events(
        [
            {
                "choices": [
                    {
                        "delta": {
                            "tool_calls": [{"function": {"arguments": text}} for text in ("other ", piece)]
                        }
                    }
                ]
            }
            for piece in pieces
        ]
    )


def _choices(pieces: Pieces) -> str:
    return _events(
        [
            {"choices": [{"index": index, "delta": {"content": text}}]}
            for piece in pieces
            for index, text in enumerate(("other ", piece))
        ]
    )


def _anthropic(pieces: Pieces) -> str:
    frames: list[Json] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": pieces[0]}}
    ]
    for piece in pieces[1:]:
        other: Json = {"type": "input_json_delta", "partial_json": "other "}
        frames.append({"type": "content_block_delta", "index": 1, "delta": other})
        mine: Json = {"type": "text_delta", "text": piece}
        frames.append({"type": "content_block_delta", "index": 0, "delta": mine})
    return "".join(f"event: content_block_delta\ndata: {json.dumps(frame)}\n\n" for frame in frames)


def _anthropic_thinking(pieces: Pieces) -> str:
    delta = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    return _events([{"type": "content_block_delta", "index": 0, "delta": one} for one in delta])


def _responses_reasoning(pieces: Pieces) -> str:
    head: dict[str, Json] = {"type": "response.reasoning_summary_text.delta", "output_index": 0}
    return _events([{**head, "delta": piece} for piece in pieces])


def _anthropic_input(pieces: Pieces) -> str:
    return _events(
        [
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": text},
            }
            for piece in pieces
            for index, text in enumerate(("other ", piece))
        ]
    )


def _responses(pieces: Pieces) -> str:
    return _events(
        [
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece}
            for piece in pieces
        ]
    )


def _responses_calls(pieces: Pieces) -> str:
    return _events(
        [
            {"type": "response.function_call_arguments.delta", "item_id": item, "delta": text}
            for piece in pieces
            for item, text in (("fc_1", "other "), ("fc_2", piece))
        ]
    )


def _ollama(pieces: Pieces) -> str:
    frames: list[Json] = [
        {"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces
    ]
    return "".join(f"{json.dumps(frame)}\n" for frame in [*frames, {"done": True}])


def _ollama_generate(pieces: Pieces) -> str:
    return "".join(f"{json.dumps({'model': 'm', 'response': piece})}\r\n" for piece in pieces)


def _gemini(pieces: Pieces) -> str:
    frames = [json.dumps({"candidates": [{"content": {"parts": [{"text": piece}]}}]}) for piece in pieces]
    return "[" + "\n,\r\n".join(frames) + "\n]"


FORMS: Final[Mapping[str, Callable[[Pieces], str]]] = {
    "chat completions": _chat,
    "reasoning": _reasoning,
    "interleaved calls": _calls,
    "interleaved calls without an index": _calls_without_index,
    "interleaved choices": _choices,
    "Anthropic Messages": _anthropic,
    "Anthropic tool input": _anthropic_input,
    "Anthropic thinking": _anthropic_thinking,
    "Responses": _responses,
    "reasoning of Responses": _responses_reasoning,
    "interleaved calls of Responses": _responses_calls,
    "Ollama": _ollama,
    "Ollama generate": _ollama_generate,
    "Gemini": _gemini,
}
