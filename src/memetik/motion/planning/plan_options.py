"""The keywords of planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from numpy.typing import ArrayLike

from memetik._core import StopFlag
from memetik.goals.base import Goal
from memetik.motion.planning.paths import Progress
from memetik.motion.timing.limits import MotionLimits
from memetik.solve.options import MethodLike

Configuration: TypeAlias = ArrayLike | Mapping[str, float]
"""A configuration (dof,) or {joint: value}."""

WayPoint: TypeAlias = Configuration | Goal | Sequence[Goal]
"""A configuration, or goals."""

VIA_TOLERANCE = 0.02
"""Radians or metres: what each joint may be off a waypoint."""


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
    via: Sequence[WayPoint]
    via_tolerance: float
