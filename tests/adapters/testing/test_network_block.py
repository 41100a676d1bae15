from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from toolreel.testing import LOOPBACK, NetworkBlocked, network_blocked

ELSEWHERE = ("192.0.2.1", 9)
"""Reserved for documentation (RFC 5737): nobody is there."""


def udp(act: Callable[[socket.socket], object]) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        act(sock)


WAYS: list[Callable[[], object]] = [
    lambda: socket.socket().connect(ELSEWHERE),
    lambda: socket.socket().connect_ex(ELSEWHERE),
    lambda: udp(lambda sock: sock.sendto(b"", ELSEWHERE)),
    lambda: udp(lambda sock: sock.sendto(b"", 0, ELSEWHERE)),
    lambda: udp(lambda sock: sock.sendmsg([b""], [], 0, ELSEWHERE)),
    lambda: socket.getaddrinfo("example.invalid", 9),
    lambda: socket.getaddrinfo(b"example.invalid", 9),
    lambda: socket.gethostbyname("example.invalid"),
]


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_to_another_machine(way: Callable[[], object]) -> None:
    with network_blocked([LOOPBACK], "The remedy.") as refused:
        with pytest.raises(
            NetworkBlocked, match=r"(?s)this test wants to (connect to|look up) .*The remedy\."
        ):
            way()
        assert len(refused) == 1


def test_every_test_of_this_project_runs_under_it() -> None:
    with pytest.raises(NetworkBlocked, match=r"connect to 192"):
        WAYS[0]()


def test_nobody_takes_it_for_an_answer() -> None:
    assert not issubclass(NetworkBlocked, Exception)
