"""``Agent``: a model with tools and instructions."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._agent.agent import Agent
    from toolreel._agent.agent_run import AgentEvent, AgentRun, AgentRuns, RunSettings, Value_co
    from toolreel._agent.offered_tools import AgentTools, OfferedTools
    from toolreel._agent.settings import AgentSettings, Fallback
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
