from __future__ import annotations

import socket

import pytest

from toolreel.testing import NetworkBlocked

# Reserved for documentation (RFC 5737, RFC 2606): nobody is there.
ELSEWHERE = ("192.0.2.1", 9)


def test_no_test_reaches_another_machine() -> None:
    with socket.socket() as sock, pytest.raises(NetworkBlocked, match=r"connect to 192"):
        sock.connect(ELSEWHERE)
    with (
        socket.socket(type=socket.SOCK_DGRAM) as sock,
        pytest.raises(NetworkBlocked, match=r"connect to 192"),
    ):
        sock.sendto(b"", ELSEWHERE)


def test_no_test_asks_for_the_address_of_another_machine() -> None:
    with pytest.raises(NetworkBlocked, match=r"look up example\.invalid"):
        socket.getaddrinfo("example.invalid", 9)
