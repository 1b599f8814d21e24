"""Twists as targets: a pose that is carried on by a velocity, on a leash to where the link really is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.geometry.transforms import rotation_exp, rotation_log

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

LEASH = (0.05, 0.2)
"""Metres and radians that the carried pose may be ahead of the link: what is held up does not rush on afterwards."""


class CarriedPose:
    """The pose of a link, carried on by twists."""

    def __init__(self, robot: Robot, link: str, q: np.ndarray):
        self.robot, self.link = robot, link
        self.pose: np.ndarray = robot.pose(link, q)

    def advance(self, twist: ArrayLike, frame: str | None, q: np.ndarray, dt: float) -> np.ndarray:
        """The pose after dt seconds of a twist (6,): velocity and angular velocity of the link's origin, in the axes of
        `frame`, a link, as it is at q; of the world by default."""
        values = np.asarray(twist, dtype=float)
        if values.shape != (6,) or not np.isfinite(values).all():
            raise InvalidInputError(f"a twist is 6 finite numbers, m/s and then rad/s, not {twist!r:.80}.")
        axes = np.eye(3) if frame is None else self.robot.pose(frame, q)[:3, :3]
        here = self.robot.pose(self.link, q)
        ahead = self.pose[:3, 3] - here[:3, 3] + dt * axes @ values[:3]
        turned = rotation_log(rotation_exp(dt * axes @ values[3:]) @ self.pose[:3, :3] @ here[:3, :3].T)
        ahead, turned = _shortened(ahead, LEASH[0]), _shortened(turned, LEASH[1])
        self.pose = here.copy()
        self.pose[:3, 3] += ahead
        self.pose[:3, :3] = rotation_exp(turned) @ here[:3, :3]
        return self.pose


def _shortened(vector: np.ndarray, most: float) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector * (most / length) if length > most else vector
