"""The head of a response, without I/O: what HTTP does not allow, and the endpoints shall reject alike.

The parsers below httpx (h11) and the fast endpoint (hyper) are strict about different things; each check here
adds to one of them what the other has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

UNREADABLE: Final = "\ufffd"
"""The value of a header that is not text."""

READ_HEADERS: Final = ("content-encoding", "content-type", "date", "retry-after")
"""The headers that an endpoint looks at."""

_MAX_HEADERS: Final = 100
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Control characters, but for the tab, which RFC 9110, 5.5, allows."""
_VERSIONS: Final = frozenset({"HTTP/1.0", "HTTP/1.1", "HTTP/2"})


def fault_of_head(version: str, raw: Sequence[tuple[bytes, bytes]], *, sized_in_chunks: bool) -> str:
    """What h11 accepts and hyper does not; empty if the head is fine.

    :param raw: names and values of the headers
    :param sized_in_chunks: whether there is a ``transfer-encoding``
    """
    if version not in _VERSIONS:
        return f"the server speaks {version}, which is no version of HTTP"
    if version == "HTTP/1.0" and sized_in_chunks:
        return "the server speaks HTTP/1.0, which has no transfer-encoding"  # RFC 9112, 6.1
    if len(raw) > _MAX_HEADERS:
        return f"the response has more than {_MAX_HEADERS} headers"
    if _CONTROL.search(b"".join([value for _, value in raw])):
        return "a header of the response contains a control character"
    return ""


def fault_of_coding(status: int, transfer_encoding: str) -> str:
    """What hyper accepts and h11 does not; empty if the head is fine."""
    if status < 200:
        return f"the server switched to another protocol (HTTP {status}), which was not asked for"
    if transfer_encoding.strip().lower() not in {"", "chunked"}:
        return f"transfer-encoding {transfer_encoding!r} is not supported"
    return ""
