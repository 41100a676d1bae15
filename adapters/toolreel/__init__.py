"""Record, replay and explain the tool loops of language models.

This is the package that an application imports. What most programs need is right here::

    from toolreel import Plan, Ports, PythonTools, run
    from toolreel.http import HttpEndpoint

More is in ``toolreel.http``, ``toolreel.cassette``, ``toolreel.tools.mcp``,
``toolreel.tools.skills``, ``toolreel.testing``, ``toolreel.presets``, ``toolreel.otel`` and
``toolreel.evals``; if you embed the reducer in a runtime of your own, import ``toolreel_core``. A path
with a component that begins with an underscore is private.

Names are loaded when they are first used: every pytest on the machine imports this package for its
plugin, and pays nothing for it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._public import *

    __version__: str
else:
    from toolreel._internal import provide_run_pages
    from toolreel._internal.lazy import public_names

    __getattr__, __dir__ = public_names(__name__)

    def _run_pages() -> object:
        from toolreel._replay import view  # few runs are shown as a page

        return view

    provide_run_pages(_run_pages)
