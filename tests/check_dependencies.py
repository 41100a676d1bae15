"""What toolreel's dependencies are licensed under, and which of them have known vulnerabilities.

Reads ``requirements.lock`` and the environment of `make setup`. Where the advisory service cannot be reached,
it says so, and ``--require-advisories`` makes that a failure.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".release" / "bin"
FREE = re.compile("MIT|BSD|ISC|Apache|Python Software Foundation|PSF|CNRI|Unlicense|Zlib|CC0|MPL|3-Clause")
"""Licences under which anybody may ship a package together with toolreel."""
READ = {
    "psycopg": "LGPL-3.0: imported as it is, never changed or linked",
    "psycopg-binary": "LGPL-3.0: imported as it is, never changed or linked",
    "atheris": "Apache-2.0, as its licence file says; fuzzes, and is not shipped",
    "axe-playwright-python": "MIT, as its licence file says; checks pages, and is not shipped",
    "toolreel": "MIT: this package",
}
"""Packages whose licence a person has read."""


def main() -> None:
    faults = licences()
    audited, found = advisories()
    for fault in (*faults, *found):
        print(f"  FAULT: {fault}")
    if not audited:
        print("NOT AUDITED for vulnerabilities: the advisory service cannot be reached from here")
    missing = not audited and "--require-advisories" in sys.argv
    if faults or found or missing:
        sys.exit("check-dependencies: failed")


def licences() -> list[str]:
    """A line for each package whose licence nobody has looked at."""
    command = [
        str(TOOLS / "pip-licenses"),
        f"--python={ROOT}/.venv/bin/python",
        "--from=mixed",
        "--format=json",
    ]
    done = subprocess.run([*command, "--format=json"], stdout=subprocess.PIPE, text=True, check=True)
    packages = {each["Name"].lower(): each["License"] for each in json.loads(done.stdout)}
    counted = Counter(licence.splitlines()[0][:60] for licence in packages.values())
    print(f"== licences of {len(packages)} packages")
    for licence, count in counted.most_common():
        print(f"  {count:4} {licence}")
    return [
        f"{name}: {licence!r}: read it, and add it to tests/check_dependencies.py"
        for name, licence in sorted(packages.items())
        if name not in READ and (not FREE.search(licence) or re.search(r"GPL|AGPL|SSPL|Commons", licence))
    ]


def advisories() -> tuple[bool, list[str]]:
    """Whether all packages of the lock were looked up, and a line for each known vulnerability."""
    print("== advisories about the packages of requirements.lock", flush=True)
    locked = ["--requirement", str(ROOT / "requirements.lock"), "--no-deps", "--disable-pip"]
    command = [str(TOOLS / "pip-audit"), *locked, "--format=json", "--progress-spinner=off", "--timeout=15"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        looked_up = json.loads(done.stdout)["dependencies"]
    except ValueError:
        print(done.stderr[-1500:])
        return False, []
    skipped = [each["name"] for each in looked_up if "skip_reason" in each]
    print(f"  {len(looked_up) - len(skipped)} of {len(looked_up)} packages were looked up")
    found = [
        f"{each['name']} {each['version']}: {hole['id']}, fixed in {hole['fix_versions'] or 'nothing yet'}"
        for each in looked_up
        for hole in each.get("vulns", ())
    ]
    return not skipped, found


if __name__ == "__main__":
    main()
