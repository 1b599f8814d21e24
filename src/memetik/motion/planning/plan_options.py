"""The keywords of planning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from memetik._core import StopFlag
from memetik.motion.planning.paths import Progress
from memetik.motion.timing.limits import MotionLimits
from memetik.solve.options import MethodLike


class PlanOptions(TypedDict, total=False):
    """The keywords of `Planner.plan`."""

    candidates: int
    method: MethodLike
    planner: str | Sequence[str]
    timing: str
    ik_timeout: float
    path_timeout: float
    timing_timeout: float
    limits: MotionLimits | None
    velocity_scale: float
    acceleration_scale: float
    choose: str
    rng: int
    stop: StopFlag | None
    optimise: float
    progress: Progress | None
