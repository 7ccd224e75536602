"""The lanes: pools of worker processes that share nothing, so that a kill in one costs no other lane's caches."""

from __future__ import annotations

from dataclasses import dataclass

from veredicto_verifier.verifier import Lane


@dataclass(frozen=True, slots=True)
class LaneRules:
    """How the workers of a lane are run.

    `share` is the lane's part of the configured worker count (rounded up to one), `address_space_mb` the RLIMIT_AS
    of a worker, `tasks_kept` how many prepared tasks a worker keeps. With `times_children` the worker waits for
    processes of its own whose wait for a core cannot be seen from here; it times them itself, and the outer deadline
    can only say that the machine starved it.
    """

    share: float
    address_space_mb: int
    tasks_kept: int
    times_children: bool = False


LANES: dict[Lane, LaneRules] = {
    "light": LaneRules(share=0.5, address_space_mb=4096, tasks_kept=4096),
    "xml": LaneRules(share=0.5, address_space_mb=4096, tasks_kept=4096),
    "sql": LaneRules(share=1.0, address_space_mb=8192, tasks_kept=4096),
    "python": LaneRules(share=1.0, address_space_mb=8192, tasks_kept=1024, times_children=True),
}

WEIGHT: dict[Lane, int] = {"light": 0, "xml": 1, "sql": 2, "python": 3}
"""An `all` task runs in the heaviest lane of its criteria."""
