"""Looking over recordings: whether they are safe, readable, used, fresh, and still agree with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from toolreel._secrets.rules import SecretRules, rules_in
from toolreel.testing._recordings.folder import Group, found_in
from toolreel.testing._recordings.inspect import NOTES, Finding, Kind, Looked, Looking
from toolreel.testing._recordings.test_names import names_in, reel_tests

__all__ = ["Checked", "Finding", "Kind", "Looked", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of it."""

    looked: tuple[Looked, ...]
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that nobody can have meant."""
        return tuple(finding for finding in self.findings if finding.kind not in NOTES)


def check(
    *paths: Path,
    now: datetime,
    tests: Sequence[Path] = (),
    max_age: timedelta | None = None,
    known: Mapping[str, str] | None = None,
    rules: SecretRules | None = None,
) -> Checked:
    """Look over all recordings below some paths; what is wrong with one does not keep it from the others.

    :param tests: where tests are that must name each recording; those under ``reels`` are looked for in
        the tests beside it in any case
    :param max_age: how old a recording may be; one that does not tell its age is never too old
    :param known: secret values by their names
    :param rules: on secrets; those in the file that the environment names, by default
    :raises CassetteError: if there is nothing to check
    """
    found = found_in(*paths)
    look = Looking(known or {}, rules_in() if rules is None else rules)
    looked = [look.at(group) for group in found.groups]
    findings = [*look.findings]
    for one, group in zip(looked, found.groups, strict=True):
        if max_age and one.recorded and now - one.recorded > max_age:
            days = (now - one.recorded).days
            text = f"recorded on {one.recorded:%Y-%m-%d}, {days} days ago: record it again"
            findings.append(Finding(group.files[0], "old", text))
    for path in found.remains:
        findings += [Finding(path, "leak", text) for text in look.leaks_in(path)]
        findings.append(Finding(path, "remains", "left by a run that was killed: remove it"))
    findings += _orphans(found.groups, tests)
    return Checked(tuple(looked), tuple(sorted(findings, key=lambda finding: finding.path)))


def _orphans(groups: Sequence[Group], tests: Sequence[Path]) -> Iterator[Finding]:
    by_tests: dict[tuple[Path, ...], list[Group]] = {}
    for group in groups:
        beside = reel_tests(group.cassette)
        places = (*tests, *([beside] if beside else []))
        if places:
            by_tests.setdefault(places, []).append(group)
    for places, those in by_tests.items():
        unnamed = {*names_in(*places).unnamed(group.cassette for group in those)}
        where = " or ".join(map(str, dict.fromkeys(places)))
        for group in those:
            if group.cassette in unnamed:
                yield Finding(group.files[0], "orphan", f"no test in {where} names it: remove it")
