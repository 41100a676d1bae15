"""A plan run from what was recorded of it: the plan is the caller's, everything else the record's."""

from __future__ import annotations

from functools import partial
from typing import assert_never

from toolreel._driver.ports import Observer
from toolreel._driver.run import Run
from toolreel._replay.replay import Driver, load_trio
from toolreel.testing._files import ReelFiles
from toolreel.testing._reel import Reel
from toolreel_core._plan.plan import Plan

__all__ = ["rerun"]


def rerun(plan: Plan, files: ReelFiles, *, driver: Driver = "sync", observe: Observer | None = None) -> Run:
    """Run a plan without a network; the journal answers for tools and approvals.

    :raises toolreel.ReplayMismatch: if the run is not the recorded one
    :raises AdapterError: if nothing is recorded, or it cannot be read
    """
    reel = Reel(files)
    match driver:
        case "sync":
            done = reel.run(plan, observe=observe)
        case "asyncio":
            import asyncio

            done = asyncio.run(reel.arun(plan, observe=observe))
        case "trio":
            done = load_trio().run(partial(reel.arun, plan, observe=observe))
        case _:
            assert_never(driver)
    reel.finish()
    reel.close()
    return done
