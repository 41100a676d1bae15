"""What holds for every test: no network, and random histories that are the same on every run."""

from __future__ import annotations

import gc
import os
import signal
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings

from tests import doctests
from toolreel.testing import LOOPBACK, network_blocked

# Scripts of the Makefile, and code for type checkers: none of it is a test, or has doctests.
collect_ignore = ["check_dependencies.py", "check_install.py", "check_release.py"]
collect_ignore_glob = ["typing/*"]

settings.register_profile("quick", derandomize=True, max_examples=10, deadline=None, database=None)
settings.register_profile("default", derandomize=True, max_examples=25, deadline=None, database=None)
settings.register_profile(
    "nightly", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
_profile = settings.get_profile(os.environ.get("TOOLREEL_HYPOTHESIS", "default"))
settings.register_profile(
    "chosen", _profile, max_examples=int(os.environ.get("TOOLREEL_EXAMPLES", _profile.max_examples))
)
settings.load_profile("chosen")


def pytest_configure(config: pytest.Config) -> None:
    """Block the network, and have ``tests/doctests.py`` hold for the modules of the product, too."""
    config.pluginmanager.register(doctests)
    # No test leaves this machine, through whatever library it does so.
    block = ExitStack()
    block.enter_context(network_blocked([LOOPBACK], "Tests have no network."))
    config.add_cleanup(block.close)


# A shell's background job ignores SIGINT, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Twenty thousand tests are millions of objects that live to the end. Each collection of garbage while they
# are made, and each one that a test or a session of pytest within a test asks for, would look at all of them
# again: a fifth of the time in which the tests are found, and 0.4 s each time afterwards.
@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
