"""The keywords of planning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import StopFlag
from memetik.goals.base import Goal
from memetik.motion.planning.paths import PlannerLike, Progress
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingMethod
from memetik.solve.options import MethodLike

Configuration: TypeAlias = ArrayLike | Mapping[str, float]
"""A configuration (dof,) or {joint: value}."""

Waypoint: TypeAlias = Configuration | Goal | Sequence[Goal]
"""A configuration, or goals."""

PathFilter: TypeAlias = Callable[[np.ndarray], ArrayLike]
"""From the points (N, dof) of a path to those of another one."""

VIA_TOLERANCE = 0.02
"""Radians or metres: what each joint may be off a waypoint."""


class PlanOptions(TypedDict, total=False):
    """The keywords of `Planner.plan`."""

    candidates: int
    method: MethodLike
    planner: PlannerLike | Sequence[PlannerLike]
    timing: TimingMethod
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
    via: Sequence[Waypoint]
    via_tolerance: float
    filters: Sequence[PathFilter]
