"""toolreel's cassettes in stock vcrpy, whose patching then serves any HTTP library it knows.

>>> import vcr, requests  # doctest: +SKIP
>>> my_vcr = register(vcr.VCR(record_mode="none"))  # doctest: +SKIP
>>> with my_vcr.use_cassette("cassettes/question.yaml"):  # doctest: +SKIP
...     answer = requests.post("https://api.example/v1/chat/completions", json={...})

With pytest-recording, call ``register(vcr)`` in the hook ``pytest_recording_configure(config, vcr)``. Without
the serializer, vcrpy opens such a file and fails at the first request, since it finds trees in the place of
texts under ``body``; ``toolreel cassettes export`` makes a file that needs no plugin.

What vcrpy records through the plugin is what every cassette of toolreel holds: bodies decoded, few headers
(no cookies, no ``location``), keys in URLs struck out. Two limits of vcrpy:

- It knows no exchange that broke off: one without a response is played as status 599, and a stream that broke
  off ends there without an exception.
- If a secret is left anywhere, nothing is written and the block ends with ``SecretFound``. vcrpy keeps its
  patches as long as an exception from saving is referenced, so let go of it before the next request.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from toolreel._internal.errors import CassetteError, MissingExtra, VaryError
from toolreel._secrets.project_rules import SecretRules
from toolreel.cassette._format import serializer as cassette_format
from toolreel.cassette._format.file import read_file, replace_file
from toolreel.cassette._lookup import canonical_body, request_key
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._recorded_failures import Break, is_unanswered
from toolreel.cassette._varying.header import Header
from toolreel.cassette._varying.rule import Vary, distinct, put_through
from toolreel.cassette.vcr._convert import decoded
from toolreel.cassette.vcr._vcrpy_files import stock_interaction

try:
    from vcr import VCR, matchers
    from vcr.persisters.filesystem import CassetteNotFoundError
    from vcr.request import Request
    from vcr.serialize import deserialize
    from vcr.util import read_body
except ImportError as error:
    raise MissingExtra.of("record", "vcrpy") from error

NAME: Final = "toolreel"
"""The name under which :func:`register` registers the serializer and the matcher."""


def register(
    recorder: VCR,
    *,
    known_secrets: Mapping[str, str] | None = None,
    secret_rules: SecretRules | None = None,
    vary: Sequence[Vary] = (),
) -> VCR:
    """The same ``vcr.VCR``, which reads and writes cassettes of toolreel from now on.

    Registers :class:`Serializer` under :data:`NAME` and makes it the default, :class:`Persister`, and
    :func:`same_request` as the matcher :data:`NAME`, which you choose by ``match_on=["toolreel"]``. The
    other parameters are those of :class:`Serializer`.

    :param vary: what may differ between recorded and new requests, besides the rules in a cassette; vcrpy
        does not say when a session ends, so a rule that fits nothing is not noticed
    """

    def same(one: Request, other: Request) -> bool:
        return same_request(one, other, vary)

    recorder.register_serializer(NAME, Serializer(known_secrets, secret_rules))
    recorder.register_persister(Persister)
    recorder.register_matcher(NAME, same)
    recorder.serializer = NAME
    return recorder


class Serializer:
    """Makes vcrpy's dictionary into the text of a cassette, and back; for ``VCR.register_serializer``.

    :param known_secrets: values that must not be in a cassette, by name; by default those in this
        process's environment
    :param secret_rules: what else is a secret, and what is none; by default what the environment names
    """

    def __init__(
        self, known_secrets: Mapping[str, str] | None = None, secret_rules: SecretRules | None = None
    ) -> None:
        self._known = known_secrets
        self._rules = secret_rules

    def serialize(self, cassette_dict: Mapping[str, Any]) -> str:
        """The text of a cassette, without anything that a cassette does not hold.

        :raises SecretFound: if it would hold a secret
        :raises CassetteError: if vcrpy recorded something that has no place in a cassette; names it
        """
        if cassette_dict.get("metadata"):
            raise CassetteError("holds metadata (Cassette.get_metadata), for which this format has no place")
        tape = Recording.blank("")
        tape.frozen.header = cassette_dict.get("header", tape.frozen.header)
        for number, entry in enumerate(cassette_dict["interactions"], 1):
            _append(tape, entry, f"interaction {number}")
        return tape.text(self._known, self._rules)

    def deserialize(self, cassette_string: str) -> dict[str, Any]:
        """The dictionary that vcrpy expects, of the cassette in a text.

        :raises CassetteError: if it is not a cassette of toolreel, or cannot be trusted
        """
        return cassette_format.deserialize(cassette_string)


class Persister:
    """Reads a cassette, and replaces it atomically; for ``VCR.register_persister``.

    Stock vcrpy treats an empty file as a missing one and records over it, and may leave half a file.
    """

    @staticmethod
    def load_cassette(cassette_path: str | os.PathLike[str], serializer: Serializer) -> tuple[Any, ...]:
        """The requests and responses in a file.

        :raises CassetteNotFoundError: if there is no file, upon which vcrpy records one if it may
        :raises CassetteError: if it cannot be read or trusted
        """
        if not os.path.lexists(cassette_path):
            raise CassetteNotFoundError
        try:
            text = read_file(Path(cassette_path))
            loaded: tuple[Any, ...] = deserialize(text, serializer)
            if rules := _header(text).vary:
                for request in loaded[0]:
                    setattr(request, _RULES, rules)
        except (CassetteError, VaryError) as error:
            raise type(error)(f"{os.fspath(cassette_path)}: {error}") from error
        return loaded

    @staticmethod
    def save_cassette(
        cassette_path: str | os.PathLike[str], cassette_dict: Mapping[str, Any], serializer: Serializer
    ) -> None:
        """Replace the file by one with these requests and responses.

        :raises SecretFound: if it would hold a secret; the old file stays
        :raises CassetteError: if it cannot be written, or the serializer is another than ours, which would
            write secrets
        """
        pairs = zip(cassette_dict["requests"], cassette_dict["responses"], strict=True)
        entries = [{"request": _request(request), "response": response} for request, response in pairs]
        try:
            if not isinstance(serializer, Serializer):
                raise CassetteError(
                    "register the serializer along with the persister: toolreel.cassette.vcr.register()"
                )
            header = _header(read_file(Path(cassette_path))) if os.path.lexists(cassette_path) else Header()
            text = serializer.serialize({**cassette_dict, "interactions": entries, "header": header})
        except (CassetteError, VaryError) as error:
            raise type(error)(f"{os.fspath(cassette_path)}: {error}") from error
        replace_file(Path(cassette_path), text.encode())


_RULES: Final = "toolreel_vary"
"""The attribute of a recorded request with the rules of its cassette: a matcher gets nothing else."""


def _header(text: str) -> Header:
    """The header of a cassette; read only where there may be one."""
    start = text.partition("\ninteractions:")[0]
    return cassette_format.document(text)[0] if start.count("\n") > 1 else Header()


def same_request(one: Request, other: Request, vary: Sequence[Vary] = ()) -> bool:
    """Whether two requests are the same to toolreel; for ``VCR.register_matcher``.

    Method, endpoint with query, and body have to agree, where white space in JSON is no difference; scheme,
    host, and the path above the endpoint may differ, so that any base URL will do. Both bodies are put
    through ``vary`` and the rules of the cassette first.

    :raises AssertionError: if they are not; vcrpy shows its text
    """
    bodies: list[Any] = [read_body(request) or b"" for request in (one, other)]
    asked, recorded = bodies
    (was, _), (now, _) = request_key(other.method, other.uri), request_key(one.method, one.uri)
    if was != now:
        raise AssertionError(f"{now} != {was}")
    rules = distinct(getattr(other, _RULES, ()), vary)
    if rules and put_through(asked, rules).body == put_through(recorded, rules).body:
        return True
    if asked != recorded and _canonical(asked) != _canonical(recorded):
        matchers.body(one, other)  # raises with a readable difference, unless it is in the order of keys
        raise AssertionError("the keys in the body are in another order")
    return True


_canonical: Final = lru_cache(maxsize=256)(canonical_body)
"""vcrpy compares a request with every recorded one, so each recorded body comes again and again."""


def _request(request: Request) -> dict[str, Any]:
    headers: Iterable[tuple[str, Any]] = request.headers.items()
    return {
        "method": request.method,
        "uri": request.uri,
        "headers": dict(headers),
        "body": read_body(request),
    }


def _append(tape: Recording, entry: Mapping[str, Any], place: str) -> None:
    """Add an interaction of vcrpy's to a recording."""
    one = stock_interaction(entry, place)
    sent = dict(one.headers)
    broke = Break.found_in(entry["response"])
    if broke and is_unanswered({**entry["response"], "body": {"string": one.response.body}}):
        tape.append_break(one.method, one.url, sent, one.body, broke)
    else:
        response = replace(decoded(one.response), broke=broke)
        tape.append(one.method, one.url, sent, one.body, response)
