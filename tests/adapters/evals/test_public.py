"""An evaluation from Python, with the public names alone."""

from __future__ import annotations

import subprocess
import sys


def test_only_the_page_needs_jinja2() -> None:
    blocked = "import sys; sys.modules['jinja2'] = None"
    program = f"{blocked}; from toolreel.evals import Promoted, evaluate, report_page"
    subprocess.run([sys.executable, "-c", program], check=True)
