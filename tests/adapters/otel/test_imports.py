"""Tracing costs nothing where nobody asks for it."""

from __future__ import annotations

import subprocess
import sys

RUN = """
from toolreel import Plan, Ports, run
from toolreel.testing import ScriptedEndpoint, saying
run(Plan.of(model="m", messages="hi"), Ports(ScriptedEndpoint([saying("Hi.")])))
"""
LOADED = "import sys; print([name for name in sys.modules if 'opentelemetry' in name])"


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_import_alone_loads_nothing_and_changes_nothing() -> None:
    done = python(f"import toolreel.otel\n{RUN}\n{LOADED}")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_api_is_enough_and_without_a_provider_nothing_happens() -> None:
    alone = "import sys; sys.modules['opentelemetry.sdk'] = None"
    code = f"{alone}\nimport toolreel.otel\ntoolreel.otel.instrument()\n{RUN}"
    done = python(f"{code}\nprint('opentelemetry.sdk.trace' in sys.modules)")
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_without_the_extra_the_error_says_what_to_install() -> None:
    done = python("import sys; sys.modules['opentelemetry'] = None\nfrom toolreel.otel import instrument")
    assert "it comes with the extra 'otel', pip install 'toolreel[otel]'" in done.stderr
