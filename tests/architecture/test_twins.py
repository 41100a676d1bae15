from __future__ import annotations

from pathlib import Path

from tests.architecture.source import DOMAIN, ROOT, modules

TESTS = ROOT / "tests" / "domain"
CONTRACT = Path("test_contract.py")
"""The rules of a run, which no module keeps alone."""


def test_every_module_of_the_core_has_its_twin_and_every_twin_its_module() -> None:
    """``domain/toolreel_core/a/b.py`` is tested by ``tests/domain/a/test_b.py``."""
    expected = {
        module.path.relative_to(DOMAIN).with_name(f"test_{module.path.name}")
        for module in modules(DOMAIN)
        if not module.is_package
    }
    actual = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {CONTRACT}
    assert sorted(map(str, expected - actual)) == [], "modules without a twin"
    assert sorted(map(str, actual - expected)) == [], "twins without a module"
