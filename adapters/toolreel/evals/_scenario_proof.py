"""A new scenario file, and the proof of an oracle: its scripts run, and each must get a certain verdict.

A check that cannot fail finds nothing; so every check is also asked whether some script fails it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from toolreel._internal import EvalPlanError
from toolreel.evals._runner.trial import RunContext, ScriptedEndpoint, live_tools, run_conversation
from toolreel_core._errors import ConfigError
from toolreel_core.evals import ANSWERED, Kind, Result, Scenario, Verdict, check_scenario_name, judge


def scenario_template(name: str) -> str:
    """The text of a new scenario file: complete, commented, and its oracle holds.

    :raises ConfigError: if the name is none
    """
    check_scenario_name(name)
    return (files("toolreel.evals") / "scenarios/template.toml").read_text("utf-8").replace("NAME", name, 1)


def write_new_file(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    :raises EvalPlanError: if it is, or cannot be written
    """
    try:
        if path.exists():
            raise EvalPlanError(f"{path}: exists already; choose another file (--out)")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EvalPlanError(f"{path}: cannot be written: {error.strerror}") from None


_WANTED: Final[Mapping[Kind, Result]] = {"good": "pass", "skipping": "pass_unexercised", "bad": "fail"}
"""The verdict that the script of each kind must get."""


@dataclass(frozen=True, slots=True)
class ScriptProof:
    """The verdicts of one script."""

    kind: Kind
    wanted: Result
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdicts of a scenario's scripts."""

    scenario: str
    scripts: tuple[ScriptProof, ...]
    never_failed: tuple[str, ...]
    """Checks that no script fails: nothing shows that they can."""

    @property
    def holds(self) -> bool:
        """Whether every script got the expected verdict."""
        return all(found.result == each.wanted for each in self.scripts for found in each.verdicts)


def proof_of(scenario: Scenario, seeds: int | None = None) -> Proof:
    """Run the scripts of a scenario under several seeds; its real tools, if it has any, run for real.

    :param seeds: by default 20, or 2 where tools are real
    :raises ConfigError: if it has no scripts
    """
    first = scenario.begin("1")
    if first.scripts is None:
        raise ConfigError(
            f"{scenario.name} has no scripts, so nothing proves its checks; write [script] with good and bad"
        )
    trials = seeds or (2 if first.outside else 20)
    verdicts, failed = dict[Kind, list[Verdict]](), set[str]()
    for seed in map(str, range(1, trials + 1)):
        case = scenario.begin(seed)
        tools = live_tools(scenario, case)
        scripts = case.scripts or first.scripts
        for kind in _WANTED:
            if kind == "skipping" and scripts.skipping is None:
                continue
            plan = scenario.changes.plan(model=f"scripted:{kind}", messages=case.messages, tools=case.tools)
            endpoint = ScriptedEndpoint(kind, scripts)
            seen = run_conversation(case, plan, RunContext(endpoint, tools)).evidence
            verdicts.setdefault(kind, []).append(judge(case, seen))
            failed.update(check.name for check in case.checks if check.finding(seen))
    names = (check.name for check in first.checks if check.name != ANSWERED)
    proofs = (ScriptProof(kind, _WANTED[kind], tuple(found)) for kind, found in verdicts.items())
    return Proof(scenario.name, tuple(proofs), tuple(name for name in names if name not in failed))


def proof_sentences(proof: Proof) -> Iterator[str]:
    """What a person reads: a line a script, and what to write where one is wrong."""
    for each in proof.scripts:
        trials = len(each.verdicts)
        wrong = [verdict for verdict in each.verdicts if verdict.result != each.wanted]
        if not wrong:
            yield f"{each.kind}: {each.wanted} in all {trials} trials"
            continue
        found = wrong[0]
        yield f"{each.kind}: {found.result} in {len(wrong)} of {trials} trials, where {each.wanted} is wanted"
        yield from (f"  {reason}" for reason in (found.category, *found.reasons) if reason)
        exercised = each.kind == "skipping" and found.result == "pass"
        yield f"  {_REMEDIES['exercised' if exercised else each.kind]}"
    for name in proof.never_failed:
        yield f"note: no script fails the check {name!r}; a bad or skipping script that does would prove it"


_REMEDIES: Final = {
    "good": "mend the script, or the check that it does not meet",
    "bad": "no check notices what it does wrong: add a [[check]] that does, or let it do something wrong",
    "skipping": 'it has to do the task; give what it may skip layer = "exercise"',
    "exercised": 'give the check of the hard part layer = "exercise", or leave the script out',
}
