"""Processes of the tests, forked from one that has all modules loaded: starting one again takes a second."""

from __future__ import annotations

from multiprocessing import get_context

FORKING = get_context("forkserver")
FORKING.set_forkserver_preload(["tests.adapters.durable.a_worker", "tests.adapters.durable.limits_worker"])
