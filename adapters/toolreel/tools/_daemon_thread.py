"""Calls in threads that nobody has to wait for, not even the process at its end."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["in_thread"]

_Result = TypeVar("_Result")


def in_thread(name: str, call: Callable[[], _Result]) -> Future[_Result]:
    """Start a call in a thread of its own, for which nobody has to wait, not even the process at its end.

    The call sees the caller's context variables; what it raises is raised to whoever asks for the result.
    """
    from concurrent.futures import Future

    returned: Future[_Result] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            returned.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - a SystemExit belongs to the caller, not to this thread
            returned.set_exception(error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return returned
