"""A bundle: one file with all that somebody else needs to judge an evaluation again.

::

    manifest.json     the SHA-256 of each other file, and what the evaluation is about
    header.json       the plan
    journal.jsonl     a record a run
    packs/…           the recordings, packed
    stopped.json      cells that a rule stopped early, if there is one

The same evaluation gives the same bytes, whether its recordings are packed or not: entries have a fixed order
and time. Its name is the digest of the manifest, which is over the contents, not over their compression.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from toolreel._internal.errors import ResultsError, SecretFound
from toolreel._secrets.known_values import known_secrets
from toolreel._secrets.scanned_texts import refuse_secrets_in_line
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.packs import packs_in, recording_bytes
from toolreel.evals._store.recordings import RecordingPacks, recording_of
from toolreel.evals._store.results import Results
from toolreel_core._jsontext.digest import digest
from toolreel_core.evals._plan.eval_plan import EvalPlan

_VERSION: Final = 1
_MANIFEST: Final = "manifest.json"
_LARGEST: Final = 4_000_000_000
"""Bytes that a bundle may unpack to: it may come from anywhere."""
_FIRST_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file knows; all entries have it."""


@dataclass(frozen=True, slots=True)
class BundleOutcome:
    """A bundle that was written."""

    digest: str
    """Of its manifest: the name of the evaluation's contents."""
    runs: int
    recordings: int
    size: int
    """Of the file, in bytes."""


def write_bundle(
    folder: Path | str, out: Path | str, environ: Mapping[str, str] | None = None
) -> BundleOutcome:
    """Write an evaluation as one file; nothing is written if it holds a secret.

    :param environ: the environment whose secret values must not be in it; by default that of this process
    :raises ResultsError: if there is no evaluation, or the file cannot be written
    :raises SecretFound: if a secret is in it
    :raises CassetteError: if a recording is missing
    """
    known = known_secrets(os.environ if environ is None else environ)
    results, out = Results.open(folder), Path(out)
    plan = plan_of_header(results.header)
    with TemporaryDirectory(prefix="toolreel-bundle-") as name:
        draft = Path(name)
        names = _gathered(results, draft, known)
        files = sorted(path for path in draft.rglob("*") if path.is_file())
        manifest = _manifest(results, plan, {path.relative_to(draft).as_posix(): path for path in files})
        (draft / _MANIFEST).write_text(manifest, encoding="utf-8", newline="\n")
        _zip(draft, (draft / _MANIFEST, *files), out)
    return BundleOutcome(digest(manifest), len(results), len(names), out.stat().st_size)


def _gathered(results: Results, draft: Path, known: Mapping[str, str]) -> list[str]:
    """Copy an evaluation, its recordings as packs; returns their names.

    :raises SecretFound: if there is a secret in it
    """
    folder = results.path
    for name in ("header.json", "stopped.json"):
        if (folder / name).exists():
            text = (folder / name).read_text(encoding="utf-8")
            refuse_secrets_in_line(json.dumps(json.loads(text)), known, str(folder / name))
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
    with (folder / "journal.jsonl").open("rb") as journal, (draft / "journal.jsonl").open("wb") as copy:
        for number, line in enumerate(journal, 1):
            if line.endswith(b"\n"):
                refuse_secrets_in_line(line.decode(), known, f"{folder / 'journal.jsonl'}, line {number}")
                copy.write(line)
    names = [*dict.fromkeys(record.cassette for record in results.records() if record.cassette)]
    for name in names:
        try:
            recording_of(folder, name).text(known)
        except SecretFound as error:
            raise SecretFound(f"{folder / name}: {error}") from None
    RecordingPacks(draft).add((name, recording_bytes(folder, name)) for name in names)
    return names


def _manifest(results: Results, plan: EvalPlan, files: Mapping[str, Path]) -> str:
    tree = {
        "toolreel_bundle": _VERSION,
        "created": results.header.created,
        "versions": dict(results.header.versions),
        "catalogue": results.header.catalogue,
        "taxonomy": results.header.taxonomy,
        "plan": plan.digest,
        "scenarios": {each.name: each.version for each in plan.scenarios},
        "runs": len(results),
        "files": {
            name: {"bytes": path.stat().st_size, "sha256": _sha256(path)} for name, path in files.items()
        },
    }
    return f"{json.dumps(tree, indent=1, sort_keys=True, ensure_ascii=False)}\n"


def _sha256(path: Path) -> str:
    found = sha256()
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            found.update(data)
    return found.hexdigest()


def _zip(draft: Path, files: tuple[Path, ...], out: Path) -> None:
    """Write the file atomically."""
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(6)}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with ZipFile(temporary, "x", ZIP_DEFLATED, compresslevel=6) as bundle:
            for path in files:
                entry = ZipInfo(path.relative_to(draft).as_posix(), _FIRST_TIME)
                entry.compress_type = ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                bundle.writestr(entry, path.read_bytes())
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(out)
    except OSError as error:
        raise ResultsError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def unpacked_bundle(bundle: Path, folder: Path) -> str:
    """Unpack a bundle whose files are what its manifest says; returns the digest of the manifest.

    :param folder: an empty directory
    :raises ResultsError: if it is no bundle, or was changed; names the file
    """
    try:
        with ZipFile(bundle) as archive:
            text = archive.read(_MANIFEST).decode()
            files = _files(bundle, json.loads(text), archive)
            for name, expected in files.items():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
                if _sha256(target) != expected:
                    raise ResultsError(
                        f"{bundle}: {name} is not what the manifest says; get the bundle again"
                    )
    except (BadZipFile, KeyError, TypeError, ValueError, NotImplementedError) as error:
        raise ResultsError(f"{bundle}: no bundle of `toolreel eval bundle`: {error}") from None
    except OSError as error:
        raise ResultsError(f"{bundle}: cannot be read: {error.strerror or error}") from None
    if not packs_in(folder) and not (folder / "journal.jsonl").exists():
        raise ResultsError(f"{bundle}: has no journal; get the bundle again")
    return digest(text)


def _files(bundle: Path, manifest: Any, archive: ZipFile) -> dict[str, str]:  # noqa: ANN401 - from anywhere
    """The digest of each file, as the manifest has it.

    :raises ResultsError: if the archive has others, or a name leads outside
    """
    if manifest["toolreel_bundle"] != _VERSION:
        raise ResultsError(
            f"{bundle}: of version {manifest['toolreel_bundle']!r}; this toolreel reads {_VERSION}"
        )
    files = {str(name): str(about["sha256"]) for name, about in manifest["files"].items()}
    there = {entry.filename: entry.file_size for entry in archive.infolist()}
    if {*there} != {_MANIFEST, *files} or len(archive.infolist()) != len(there):
        raise ResultsError(f"{bundle}: its files are not those of the manifest; get the bundle again")
    if sum(there.values()) > _LARGEST:
        raise ResultsError(f"{bundle}: unpacks to more than {_LARGEST:,} bytes")
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise ResultsError(f"{bundle}: {name!r} leads outside of it")
    return files
