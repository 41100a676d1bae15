"""litellm: it has no loop; this is the one that its page on function calling shows, until there are no calls.

Streamed, the chunks are put together with ``stream_chunk_builder``, as its documentation says.
"""

from __future__ import annotations

import json

import litellm

from benchmarks.conformance.peers.driving import FUNCTIONS, KEY, MODEL, PROMPT, SCHEMAS, Case, drive

AVAILABLE = {function.__name__: function for function in FUNCTIONS}
MOST_TURNS = 8


def ask(case: Case) -> str:
    """One run."""
    messages: list[object] = [{"role": "user", "content": PROMPT}]
    for _ in range(MOST_TURNS):
        response = litellm.completion(
            model=f"openai/{MODEL}",
            api_base=case.base_url,
            api_key=KEY,
            messages=messages,
            tools=SCHEMAS,
            stream=case.stream,
        )
        if case.stream:
            response = litellm.stream_chunk_builder(list(response), messages=messages)
        message = response.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        messages.append(message)
        for call in message.tool_calls:
            name = call.function.name
            result = AVAILABLE[name](**json.loads(call.function.arguments))
            messages.append({"tool_call_id": call.id, "role": "tool", "name": name, "content": result})
    return "too many turns"


drive(ask)
