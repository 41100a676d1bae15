"""A real server over TLS that speaks HTTP/2, on this machine, and the certificate by which it is known."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import h2.config
import h2.connection
import h2.events
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from h2.exceptions import ProtocolError


@dataclass(slots=True)
class Http2Server:
    """What the server is known by, and what it has seen."""

    url: str
    certificate: Path
    protocols: list[str | None] = field(default_factory=list)
    """What was agreed upon, by connection."""
    streams: list[int] = field(default_factory=list)
    """The number that each request had in its connection."""


@contextmanager
def serving_http2(folder: Path, body: bytes) -> Generator[Http2Server]:
    """Answer every request with the same body, whose length is told, and whose end comes a little later."""
    certificate = certificate_in(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Http2Server(f"https://127.0.0.1:{listening.getsockname()[1]}", certificate)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    Thread(target=_talk, args=(tls, client, server, body), daemon=True).start()

        thread = Thread(target=serve)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _talk(tls: ssl.SSLContext, client: socket.socket, server: Http2Server, body: bytes) -> None:
    with suppress(OSError, ProtocolError), tls.wrap_socket(client, server_side=True) as wrapped:
        server.protocols.append(wrapped.selected_alpn_protocol())
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        wrapped.sendall(connection.data_to_send())
        wrapped.settimeout(0.05)
        unended: list[int] = []
        while (data := _heard(wrapped)) != b"":
            for event in connection.receive_data(data or b""):
                if isinstance(event, h2.events.StreamEnded):
                    server.streams.append(event.stream_id)
                    headers = [(":status", "200"), ("content-type", "application/json")]
                    connection.send_headers(event.stream_id, [*headers, ("content-length", str(len(body)))])
                    connection.send_data(event.stream_id, body)
                    unended.append(event.stream_id)
            while data is None and unended:
                connection.end_stream(unended.pop())
            wrapped.sendall(connection.data_to_send())


def _heard(client: ssl.SSLSocket) -> bytes | None:
    """What the client says; nothing for a while if it says nothing."""
    try:
        return client.recv(65_536)
    except TimeoutError:
        return None


def certificate_in(folder: Path) -> Path:
    """A key and its certificate, which vouches for itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).add_extension(host, critical=False)
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    encoding = serialization.Encoding.PEM
    shown = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + builder.sign(key, hashes.SHA256()).public_bytes(encoding)
    path = folder / "server.pem"
    path.write_bytes(shown)
    return path
