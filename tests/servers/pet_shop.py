"""A shop for pets with an OpenAPI document, as a real server on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any, Final
from unittest.mock import patch

from toolreel.tools.openapi._document.document import Document, parsed_document
from toolreel.tools.openapi._source import OpenApiSource
from toolreel_core._jsontext.canonical import Json, canonical, parse, read
from toolreel_core._protocol.effects import RunTool

__all__ = [
    "PETS",
    "Answer",
    "Asked",
    "Shop",
    "calling_for",
    "document",
    "open_shop",
    "replied",
    "source",
    "told",
]

PETS: Final = """
openapi: 3.0.3
info: {title: Pets and what they need, version: 2024-01-01}
servers:
  - url: https://{region}.pets.example/v2
    variables:
      region: {default: eu, enum: [eu, us]}
tags: [{name: pets}, {name: orders}]
security: [{}]
paths:
  /pets:
    get:
      operationId: listPets
      tags: [pets]
      summary: List the pets in the shop.
      parameters:
        - {name: limit, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}
        - {name: kinds, in: query, schema: {type: array, items: {$ref: '#/components/schemas/Kind'}}}
        - {name: X-Trace, in: header, description: Shown in the shop's log., schema: {type: string}}
        - {name: seen, in: cookie, schema: {type: string}}
      responses: {200: {description: The pets}}
    post:
      operationId: addPet
      tags: [pets]
      requestBody: {$ref: '#/components/requestBodies/NewPet'}
      responses: {201: {description: It is there}}
  /pets/{id}:
    parameters:
      - {$ref: '#/components/parameters/id'}
    get:
      operationId: getPet
      tags: [pets]
      description: One pet.
      responses: {200: {description: The pet}}
    delete:
      tags: [pets]
      responses: {204: {description: It is gone}}
    put:
      operationId: replacePet
      deprecated: true
      requestBody: {$ref: '#/components/requestBodies/NewPet'}
      responses: {200: {description: The pet}}
  /orders:
    get:
      operationId: orders
      tags: [orders]
      security: [{key: []}, {token: []}]
      responses: {200: {description: Yours}}
    post:
      operationId: order
      tags: [orders]
      security: [{key: [], token: []}]
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              properties: {pet: {type: string}, notes: {type: array, items: {type: string}}}
      responses: {200: {description: Ordered}}
  /pictures:
    post:
      operationId: sendPicture
      tags: [pictures]
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              properties: {title: {type: string}, picture: {type: string, format: binary}}
      responses: {200: {description: Thanks}}
    put:
      operationId: putPicture
      tags: [pictures]
      requestBody: {content: {image/png: {schema: {type: string, format: binary}}}}
      responses: {200: {description: Thanks}}
components:
  parameters:
    id: {name: id, in: path, required: true, schema: {type: string}}
  requestBodies:
    NewPet:
      required: true
      content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
  schemas:
    Kind: {type: string, enum: [cat, dog]}
    Pet:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string}
        nick: {type: string, nullable: true}
        mother: {$ref: '#/components/schemas/Pet'}
  securitySchemes:
    key: {type: apiKey, in: query, name: api_key}
    token: {type: http, scheme: bearer}
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the shop got it."""

    method: str
    target: str
    """Path and query, as they came."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What the shop says."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before anything is sent, and between two pieces."""
    pieces: int = 1
    """In how many parts the body is sent."""


@dataclass(slots=True)
class Shop:
    """Where the shop is, and what it was asked."""

    url: str
    asked: list[Asked]


def replied(tree: Json, status: int = 200, **headers: str) -> Answer:
    """A body of JSON."""
    return Answer(canonical(tree).encode(), status, {"content-type": "application/json", **headers})


@contextmanager
def open_shop(answer: Answer | Callable[[Asked], Answer]) -> Generator[Shop]:
    """A server that says the same to everybody, or what a function makes of a request."""
    closing, lock = Flag(), Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(ConnectionError):  # a client that has seen enough hangs up
                super().handle()

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            with lock:
                shop.asked.append(asked)
            said = answer(asked) if callable(answer) else answer
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            if said.status != 204:
                self.send_header("content-length", str(len(said.body)))
            closing.wait(said.delay)
            self.end_headers()
            size = -(-len(said.body) // said.pieces) or 1
            for at in range(0, 0 if self.command == "HEAD" else len(said.body), size):
                self.wfile.write(said.body[at : at + size])
                closing.wait(said.delay)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http, patch.dict(os.environ, {"NO_PROXY": "*"}):
        shop = Shop(f"http://127.0.0.1:{http.server_address[1]}", [])
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield shop
        finally:
            closing.set()
            http.shutdown()
            thread.join()


def document(**paths: Json) -> Document:
    """A document with one path ``/x`` and the methods that are given."""
    tree: Json = {"openapi": "3.1.0", "servers": [{"url": "http://x.example"}], "paths": {"/x": paths}}
    return parsed_document(canonical(tree))


def source(url: str, **wanted: Any) -> OpenApiSource:  # noqa: ANN401 - what a source takes
    """The shop's operations, at the server that is there."""
    return OpenApiSource("shop", parsed_document(PETS), base_url=url, **wanted)


def calling_for(name: str, **arguments: Json) -> RunTool:
    """The effect that has an operation of the shop called."""
    return RunTool(1, "c1", f"openapi_shop_{name}", canonical(arguments))


def told(output: str) -> tuple[bool, Json, str]:
    """What an envelope says: whether it went well, its data, and its errors or warnings in one text."""
    tree: Any = read(output).unwrap()
    errors = [f"{error['code']}: {error['message']}" for error in tree.get("errors", [])]
    return tree["ok"], parse(canonical(tree["data"])), "\n".join([*errors, *tree.get("warnings", [])])
