"""How an execution goes on when the arm is not where it should be, or something stands in the way.

Always to the same last configuration. First straight back to the nearest point of the way and along the rest of it,
where both are free; else by a new plan in joint space. Both start and end at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.planning.pipeline import plan
from memetik.motion.timing.rest_segments import at_rest, straight
from memetik.motion.timing.trajectory import Trajectory, join
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

_STEP = 0.01  # seconds between configurations that are checked on a trajectory's way
_DEFAULT_VELOCITY, _DEFAULT_ACCELERATION = 1.0, 5.0


@dataclass(frozen=True, slots=True)
class Onwards:
    """A way to go on, or why there is none."""

    trajectory: Trajectory | None
    message: str
    reason: Literal["goal blocked", "obstacle", "failed"] = "failed"


class Recovery:
    """What is known of the robot and its scene; either may be missing."""

    def __init__(self, robot: Robot | None, scene: Scene | None, joint_names: Sequence[str]):
        if robot is not None and tuple(robot.joint_names) != tuple(joint_names):
            raise InvalidInputError(
                f"the trajectory is of joints {', '.join(joint_names)}, the robot has {', '.join(robot.joint_names)}; "
                "give the robot, or the group of it, that was planned for."
            )
        self.robot, self.scene = robot, scene
        self._version = scene.version if scene is not None else 0
        self._model: Any = None

    def seen(self) -> None:
        """The scene as it is now has been looked at."""
        self._version = self.scene.version if self.scene is not None else 0

    def changed(self) -> bool:
        """Whether the scene has changed since it was looked at last."""
        if self.scene is None or self.robot is None or self.scene.version == self._version:
            return False
        self.seen()
        return True

    def limits(self, way: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        """(velocity, acceleration) within which to move."""
        if self.robot is None:
            return np.maximum(way.peaks(1), 0.1), np.maximum(way.peaks(2), 0.1)
        given = (self.robot.velocity, _DEFAULT_VELOCITY), (self.robot.acceleration, _DEFAULT_ACCELERATION)
        velocity, acceleration = (np.where(np.isfinite(limit), limit, default) for limit, default in given)
        return velocity, acceleration

    def free(self, configurations: np.ndarray) -> bool:
        """Whether all configurations (N, dof) are free of collision, as far as is known."""
        model = self._collision()
        return model is None or not model.collides(configurations).any()

    def first_contact(self, parts: Sequence[Trajectory]) -> tuple[float, tuple[str, str]] | None:
        """Seconds until the first contact on the way of some trajectories, and between whom; None if it is free."""
        model = self._collision()
        if model is None:
            return None
        begin = 0.0
        for part in parts:
            times = np.linspace(0.0, part.duration, max(2, int(part.duration / _STEP) + 1))
            configurations = part.at(times)
            touching = np.flatnonzero(model.collides(configurations))
            if len(touching):
                first = int(touching[0])
                return begin + float(times[first]), model.colliding_pair(configurations[first]) or ("", "")
            begin += part.duration
        return None

    def onwards(self, q: np.ndarray, way: Trajectory, behind: float) -> Onwards:
        """From rest at q to the end of `way`, of which `behind` seconds have been followed."""
        back = self._back_to(q, way, behind)
        if back is not None:
            return Onwards(back, f"back to the way and on along it, {back.duration:.3f} s")
        model = self._collision()
        pair = model.colliding_pair(way.end)
        if pair is not None:
            return Onwards(None, f"{pair[0]!r} and {pair[1]!r} touch at the last configuration", "goal blocked")
        pair = model.colliding_pair(q)
        if pair is not None:
            return Onwards(None, f"{pair[0]!r} and {pair[1]!r} touch where the arm is", "obstacle")
        return self._planned(q, way.end)

    def _back_to(self, q: np.ndarray, way: Trajectory, behind: float) -> Trajectory | None:
        limits = self.limits(way)
        rest = at_rest(way, behind, way.duration, limits=limits) if way.duration - behind > 1e-6 else None
        target = way.at(behind) if rest is not None else way.end
        back = straight(way.joint_names, q, target, limits)
        parts = [part for part in (back, rest) if part is not None]
        model = self._collision()
        if model is not None:
            from memetik.collision.continuous import check_motion

            if not check_motion(model, q, target) or self.first_contact(parts) is not None:
                return None
        return join(parts)

    def _planned(self, q: np.ndarray, goal: np.ndarray) -> Onwards:
        assert self.robot is not None
        found = plan(self.robot, goal, scene=self.scene, start=q)
        if found.trajectory is None:
            return Onwards(None, f"no way around was found ({found.stage}: {found.reason})", "obstacle")
        return Onwards(found.trajectory, f"a new plan to the same configuration, {found.trajectory.duration:.3f} s")

    def _collision(self) -> Any:
        """The exact model; None without a robot that has shapes."""
        if self._model is None and self.robot is not None:
            from memetik.collision.exact import CollisionModel

            self._model = CollisionModel(self.robot, self.scene)
        return self._model
