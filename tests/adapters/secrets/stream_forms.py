"""Texts in pieces, in the forms in which providers stream them; calls come in turn with another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from toolreel_core._jsontext import Json

Pieces = Sequence[str]


def _events(trees: Sequence[Json]) -> str:
    return "".join(f"data: {json.dumps(tree)}\n\n" for tree in trees) + "data: [DONE]\n\n"


def _each(frame: Callable[[str], Json]) -> Callable[[Pieces], str]:
    """A stream with a frame for each piece."""
    return lambda pieces: _events([frame(piece) for piece in pieces])


def _in_turn(frame: Callable[[int, str], Json]) -> Callable[[Pieces], str]:
    """A stream in which another text comes before each piece, under another number."""
    return lambda pieces: _events([frame(n, text) for p in pieces for n, text in enumerate(("other ", p))])


def _chunk(delta: Json, index: int = 0) -> Json:
    return {"choices": [{"index": index, "delta": delta}]}


def _calls(pieces: Pieces) -> str:
    def call(index: int, text: str, n: int) -> Json:
        first: dict[str, Json] = {} if n else {"id": f"call_{index}", "type": "function"}
        return {"index": index, "function": {"arguments": text}, **first}

    frames: list[Json] = []
    for n, piece in enumerate(pieces):
        both: list[Json] = [call(0, "other ", n), call(1, piece, n)]
        deltas: list[list[Json]] = [both] if n % 2 else [both[:1], both[1:]]
        frames += [_chunk({"tool_calls": delta}) for delta in deltas]
    return _events(frames)


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


def _ollama(pieces: Pieces) -> str:
    frames = [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces]
    return "".join(f"{json.dumps(frame)}\n" for frame in (*frames, {"done": True}))


def _gemini(pieces: Pieces) -> str:
    frames = [json.dumps({"candidates": [{"content": {"parts": [{"text": piece}]}}]}) for piece in pieces]
    return "[" + "\n,\r\n".join(frames) + "\n]"


FORMS: Mapping[str, Callable[[Pieces], str]] = {
    "chat completions": _each(lambda piece: _chunk({"content": piece})),
    "reasoning": lambda pieces: _events(
        [
            {"id": f"gen-{n}", "choices": [{"index": 0, "delta": {"reasoning": piece, "content": "-"}}]}
            for n, piece in enumerate(pieces)
        ]
    ),
    "interleaved calls": _calls,
    "interleaved calls without an index": _each(
        lambda piece: {
            "choices": [
                {"delta": {"tool_calls": [{"function": {"arguments": text}} for text in ("other ", piece)]}}
            ]
        }
    ),
    "interleaved choices": _in_turn(lambda n, text: _chunk({"content": text}, n)),
    "Anthropic Messages": _anthropic,
    "Anthropic tool input": _in_turn(
        lambda n, text: {
            "type": "content_block_delta",
            "index": n,
            "delta": {"type": "input_json_delta", "partial_json": text},
        }
    ),
    "Anthropic thinking": _each(
        lambda piece: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": piece},
        }
    ),
    "Responses": _each(
        lambda piece: {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "delta": piece,
        }
    ),
    "reasoning of Responses": _each(
        lambda piece: {
            "type": "response.reasoning_summary_text.delta",
            "output_index": 0,
            "delta": piece,
        }
    ),
    "interleaved calls of Responses": _in_turn(
        lambda n, text: {
            "type": "response.function_call_arguments.delta",
            "item_id": f"fc_{n + 1}",
            "delta": text,
        }
    ),
    "Ollama": _ollama,
    "Ollama generate": lambda pieces: "".join(
        f"{json.dumps({'model': 'm', 'response': piece})}\r\n" for piece in pieces
    ),
    "Gemini": _gemini,
}
