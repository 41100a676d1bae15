from __future__ import annotations

import pytest

from toolreel.tools.mcp._stdio import answered_request


@pytest.mark.parametrize(
    ("head", "tail", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{', b"}}", 7),
        (b'{"jsonrpc": "2.0", "id": "7", "result":{', b"}}", 7),
        (b'{"id":7,"result":{', b"}}", 7),
        (b'{"result":{', b'},"jsonrpc":"2.0","id":7}', 7),
        (b'{"result":{', b'},"id":7,"jsonrpc":"2.0"}\r', 7),
        (b'{"result":{"id":7,', b"}}", None),
        (b'{"result":{', b'"id":7}}', None),
        (b"xxxx", b"xxxx", None),
    ],
)
def test_an_oversized_answer_may_say_which_call_it_answers(
    head: bytes, tail: bytes, request_id: int | None
) -> None:
    assert answered_request(head, tail) == request_id
