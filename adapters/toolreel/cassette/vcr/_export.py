"""Our cassettes, made into those of stock vcrpy, which it plays without toolreel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolreel._errors import CassetteError, MissingExtra
from toolreel._secrets.known_values import known_secrets
from toolreel._secrets.rules import SecretRules, rules_in
from toolreel.cassette._failures import Break
from toolreel.cassette._format import serializer as cassette_format
from toolreel.cassette._format.file import CassetteFile

try:
    from vcr.serializers import compat, yamlserializer
except ImportError as error:
    raise MissingExtra.of("record", "vcrpy") from error


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of a file."""

    source: Path
    target: Path
    interactions: int
    left_out: tuple[str, ...]
    """Exchanges that broke off, which vcrpy cannot play: the name of each, and what ended it."""
    streams: tuple[int, ...]
    """Numbers of the streams in the target, each of which vcrpy plays in one piece."""


def export_cassette(
    source: Path,
    target: Path,
    *,
    overwrite: bool = False,
    skip_broken: bool = False,
    known: Mapping[str, str] | None = None,
    rules: SecretRules | None = None,
) -> Exported:
    """Write a cassette of stock vcrpy with all that one of ours holds; ``import`` gives the same again.

    :param skip_broken: whether exchanges that broke off are left out, instead of refused
    :param known: secret values by their names; those of the environment by default
    :raises SecretFound: if a secret would be written; names the interaction and the place
    :raises CassetteError: if the source cannot be read, has what vcrpy cannot hold, or the target is there
        already
    """
    if os.path.lexists(target) and not overwrite:
        raise CassetteError(
            f"{target}: exists already: export under another name, or overwrite it (--overwrite)"
        )
    file = CassetteFile()
    pairs = [*zip(*file.load_cassette(os.fspath(source), cassette_format), strict=True)]
    broken = {
        number: f"interaction {number} ({broke.kind})"
        for number, (_, response) in enumerate(pairs, 1)
        if (broke := Break.found_in(response))
    }
    if broken and not skip_broken:
        raise CassetteError(
            f"{source}: {', '.join(broken.values())} broke off, which vcrpy cannot play: "
            "leave such exchanges out (--skip-broken)"
        )
    whole = [pair for number, pair in enumerate(pairs, 1) if number not in broken]
    file.secret_rules = rules_in() if rules is None else rules
    file.known_secrets = known_secrets(os.environ, file.secret_rules) if known is None else known
    requests, responses = [one for one, _ in whole], [one for _, one in whole]
    file.save_cassette(os.fspath(target), {"requests": requests, "responses": responses}, _Stock())
    streams = tuple(number for number, one in enumerate(responses, 1) if _is_stream(one))
    return Exported(source, target, len(whole), tuple(broken.values()), streams)


class _Stock:
    """The serializer of stock vcrpy, with texts in the place of bytes as vcrpy's own persister gives it."""

    def serialize(self, cassette_dict: Mapping[str, Any]) -> str:
        entries = [
            {part: compat.convert_to_unicode(_copy(entry[part])) for part in ("request", "response")}
            for entry in cassette_dict["interactions"]
        ]
        text: str = yamlserializer.serialize({"version": 1, "interactions": entries})
        return text


def _copy(part: Mapping[str, Any]) -> dict[str, Any]:
    """A message that may be changed, as vcrpy's conversion does; the body of a response is a mapping."""
    body = part["body"]
    return {**part, "body": dict(body) if isinstance(body, dict) else body}


def _is_stream(response: Mapping[str, Any]) -> bool:
    kinds: list[str] = response["headers"].get("content-type", [""])
    return kinds[0].lower().startswith("text/event-stream")
