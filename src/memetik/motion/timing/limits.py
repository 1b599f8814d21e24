"""What a motion may do: limits of joint velocities, accelerations, jerks and torques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.robot.robot import Robot

DEFAULT_VELOCITY = {True: 1.0, False: 0.25}
"""Where a description gives none: radians per second for turning axes, metres per second for sliding ones."""

SPEED_UP = 0.5
"""Where a description gives no acceleration: seconds to reach full velocity."""

JERK_UP = 0.1
"""Where no jerk is given: seconds to reach full acceleration."""


LimitLike: TypeAlias = ArrayLike | Mapping[str, float]
"""A number, (dof,) numbers, or {joint: number}."""


@dataclass(frozen=True, slots=True, eq=False)
class MotionLimits:
    """Limits (dof,), all positive: radians or metres per second, its square and its cube; newton metres or newtons.

    Torques are limited only where `effort` is given.
    """

    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        velocity: LimitLike | None = None,
        acceleration: LimitLike | None = None,
        jerk: LimitLike | None = None,
        effort: LimitLike | bool | None = None,
        velocity_scale: float = 1.0,
        acceleration_scale: float = 1.0,
    ) -> MotionLimits:
        """Those of a robot. A number, (dof,) numbers or {joint: number} take the place of what the description says.

        effort: True takes the description's torques; by default torques are not limited.
        velocity_scale, acceleration_scale: shares of the limits, above 0 and at most 1; the jerk goes with the
        acceleration.
        """
        for name, scale in (("velocity_scale", velocity_scale), ("acceleration_scale", acceleration_scale)):
            if not 0.0 < scale <= 1.0:
                raise InvalidInputError(f"{name} is a share above 0 and at most 1, not {scale!r}.")
        default = np.where(robot.turning, DEFAULT_VELOCITY[True], DEFAULT_VELOCITY[False])
        own = np.where(np.isfinite(robot.velocity) & (robot.velocity > 0.0), robot.velocity, default)
        speeds = _chosen(robot, "velocity", velocity, own) * velocity_scale
        described = np.isfinite(robot.acceleration) & (robot.acceleration > 0.0)
        own = np.where(described, robot.acceleration, speeds / SPEED_UP)
        accelerations = _chosen(robot, "acceleration", acceleration, own) * acceleration_scale
        jerks = _chosen(robot, "jerk", jerk, accelerations / acceleration_scale / JERK_UP) * acceleration_scale
        if effort is None or effort is False:
            return cls(speeds, accelerations, jerks)
        efforts = _chosen(robot, "effort", None if effort is True else effort, np.array(robot.effort))
        return cls(speeds, accelerations, jerks, efforts)


def _chosen(robot: Robot, name: str, given: LimitLike | None, own: np.ndarray) -> np.ndarray:
    result = np.array(own, dtype=float)
    if given is None:
        return result
    if isinstance(given, Mapping):
        for joint, value in given.items():
            result[robot.joint_index(joint)] = value
    else:
        try:
            result[:] = given
        except (TypeError, ValueError):
            kinds = f"a number, {robot.dof} numbers or {{joint: number}}"
            raise InvalidInputError(f"{name} is {kinds}, not {given!r:.60}.") from None
    if not (result > 0.0).all():
        joint = robot.joint_names[int(np.argmin(result > 0.0))]
        raise InvalidInputError(f"the {name} limit of joint {joint!r} must be positive, not {result.min():g}.")
    return result
