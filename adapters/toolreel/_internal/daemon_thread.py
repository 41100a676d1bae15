"""Calls in daemon threads, which do not keep the process from exiting.

We do not use anyio's worker threads, because on asyncio a hanging one keeps the process from exiting.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

_Result = TypeVar("_Result")


def start_in_daemon_thread(name: str, call: Callable[[], _Result]) -> Future[_Result]:
    """Start a call in a daemon thread.

    The call sees the context variables of the caller; its exception is raised by the future.
    """
    from concurrent.futures import Future  # slow to import

    returned: Future[_Result] = Future()
    returned.set_running_or_notify_cancel()  # nobody can cancel it any more, so the result can be set
    context = contextvars.copy_context()

    def work() -> None:
        try:
            returned.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - a SystemExit is for the caller, not for this thread
            returned.set_exception(error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return returned
