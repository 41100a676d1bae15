"""Proof that mypy guards every ``match`` of the core that ends in ``assert_never``.

A copy of a module loses one case of such a match, and mypy must then refuse exactly its
``assert_never``. One round removes a case from every match at once, except that a match
inside a case waits while its surroundings lose theirs; a missing case leaves blank lines,
so that line numbers stay. The copies of all rounds are next to their modules, under names
that nobody imports, so that one run of mypy looks at all of them.

A case that only picks something out of a later one, as ``bool()`` before ``int()``, is left
alone: without it the later case takes over, which no type checker can tell from intent.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mypy import api

ROOT = Path(__file__).resolve().parents[1]
PICKED_FROM = {"bool": "int", "str": "Sequence"}
REMOVED = re.compile(r"__round_[1-9]")
"""The name of a module that misses cases: mypy may refuse more of it than the one place."""


@dataclass(frozen=True, slots=True)
class Case:
    """The lines of one case, counted from 1; the end is included."""

    start: int
    end: int
    kinds: frozenset[str]
    """The names of the classes that it takes."""


@dataclass(frozen=True, slots=True)
class Match:
    """One ``match`` that ends in ``assert_never``."""

    path: Path
    subject: str
    line: int
    guard: int
    """The line of its ``assert_never``."""
    cases: tuple[Case, ...]

    def needed(self) -> list[Case]:
        """The cases without which something would be left over."""
        return [case for place, case in enumerate(self.cases) if not self.taken_over(place)]

    def taken_over(self, place: int) -> bool:
        later = frozenset[str]().union(*(case.kinds for case in self.cases[place + 1 :]))
        kinds = self.cases[place].kinds
        return bool(kinds) and all(PICKED_FROM.get(kind) in later for kind in kinds)


@dataclass(frozen=True, slots=True)
class Removal:
    match: Match
    case: Case

    def disturbs(self, other: Removal) -> bool:
        same_file = self.match.path == other.match.path
        return same_file and (
            self.match is other.match
            or self.case.start <= other.match.line <= self.case.end
            or other.case.start <= self.match.line <= other.case.end
        )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        copy = Path("domain")
        shutil.copytree(ROOT / "domain", copy, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", "pyproject.toml")
        matches = [match for path in sorted(copy.rglob("*.py")) for match in matches_in(path)]
        batches = [*rounds(matches)]
        for path in {match.path for match in matches}:
            shutil.copy(path, variant(path, 0))
        for number, batch in enumerate(batches, 1):
            write(number, batch)
        refused = errors()
        if unwanted := {place for place in refused if not REMOVED.search(place)}:
            print("mypy refuses the core as it is:", *sorted(unwanted), sep="\n  ")
            return 1
        open_cases = [*unnoticed(batches, refused)]
        for match in matches:
            print(f"{match.path}:{match.line}: match {match.subject}: {len(match.needed())} cases")
        for removal in open_cases:
            print(f"{removal.match.path}:{removal.case.start}: mypy does not notice when this case is gone")
        total = sum(len(match.needed()) for match in matches)
        print(f"{total} cases, {f'{len(open_cases)} unguarded' if open_cases else 'all guarded'}")
        return 1 if open_cases else 0


def matches_in(path: Path) -> Iterator[Match]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Match) and (guard := guard_of(node.cases[-1])):
            cases = tuple(extent(case, lines) for case in node.cases[:-1])
            yield Match(path, ast.unparse(node.subject), node.lineno, guard, cases)


def guard_of(case: ast.match_case) -> int | None:
    """The line of ``assert_never`` if that is all that a case does."""
    match case.body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"), lineno=line))]:
            return line
        case _:
            return None


def extent(case: ast.match_case, lines: list[str]) -> Case:
    start = case.pattern.lineno
    while not lines[start - 1].lstrip().startswith("case"):
        start -= 1
    return Case(start, case.body[-1].end_lineno or start, frozenset(kinds_of(case.pattern)))


def kinds_of(pattern: ast.pattern) -> Iterator[str]:
    """The classes that a pattern takes whole; a pattern that looks inside takes no class whole."""
    match pattern:
        case ast.MatchOr(patterns=patterns):
            for alternative in patterns:
                yield from kinds_of(alternative)
        case ast.MatchClass(cls=ast.Name(id=name), patterns=[], kwd_patterns=[]):
            yield name
        case _:
            yield "?"


def rounds(matches: Iterable[Match]) -> Iterator[list[Removal]]:
    """All removals, in as few batches as there can be without one disturbing another."""
    pending = [Removal(match, case) for match in matches for case in match.needed()]
    while pending:
        batch: list[Removal] = []
        for removal in pending:
            if not any(removal.disturbs(other) for other in batch):
                batch.append(removal)
        pending = [removal for removal in pending if removal not in batch]
        yield batch


def variant(path: Path, number: int) -> Path:
    """Where the copy of a module stands from which a round has removed cases.

    Round 0 removes none, which shows that a copy is not refused for being one.
    """
    return path.with_name(f"{path.stem}__round_{number}.py")


def write(number: int, batch: list[Removal]) -> None:
    """The modules from which a round removes cases."""
    for path in {removal.match.path for removal in batch}:
        lines = path.read_text(encoding="utf-8").splitlines()
        for removal in batch:
            if removal.match.path == path:
                start, end = removal.case.start - 1, removal.case.end
                lines[start:end] = [""] * (end - start)
        variant(path, number).write_text("\n".join(lines) + "\n", encoding="utf-8")


def unnoticed(batches: Iterable[list[Removal]], refused: set[str]) -> Iterator[Removal]:
    """What of the rounds mypy lets pass."""
    for number, batch in enumerate(batches, 1):
        for removal in batch:
            if f"{variant(removal.match.path, number)}:{removal.match.guard}" not in refused:
                yield removal


def errors() -> set[str]:
    """Every place, as ``path:line``, that mypy refuses in the copied core."""
    output, trouble, _ = api.run(["--config-file=pyproject.toml", "--output=json", "domain"])
    if trouble:
        raise SystemExit(trouble)
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {f"{error['file']}:{error['line']}" for error in found if error["severity"] == "error"}


if __name__ == "__main__":
    sys.exit(main())
