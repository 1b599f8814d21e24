"""How an execution goes on when the arm is not where it should be, or something stands in the way.

Always to the same last configuration. First straight back to the nearest point of the way and along the rest of it,
where both are free; else by a new plan in joint space. Both start and end at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError
from memetik.motion.execution.surroundings import Surroundings
from memetik.motion.planning.free_space import SceneLike
from memetik.motion.planning.held_space import HeldGoals
from memetik.motion.planning.pipeline import plan
from memetik.motion.planning.plan import PlanConditions
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.rest_segments import VelocityAcceleration, at_rest, straight
from memetik.motion.timing.trajectory import Trajectory, join
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.problem import ExternalChecker

ContactModel: TypeAlias = "CollisionModel | _CheckerModel"
"""What tells contacts."""

_STEP = 0.01  # seconds between configurations that are checked on a trajectory's way
_LEAST_PEAK = 1e-3  # rad/s or m/s, and per second: slower motions are taken to be this fast


@dataclass(frozen=True, slots=True)
class Onwards:
    """A way to go on, or why there is none."""

    trajectory: Trajectory | None
    message: str
    reason: Literal["goal blocked", "obstacle", "failed"] = "failed"


class Recovery:
    """What is known of the robot, its scene and the conditions of its plan; each may be missing.

    conditions: those of the plan; its limits, margin and seed hold for whatever comes after it. `scene` is watched in
    place of the plan's own.
    """

    def __init__(
        self,
        robot: Robot | None,
        scene: SceneLike,
        joint_names: Sequence[str],
        conditions: PlanConditions | None = None,
    ):
        if robot is not None and tuple(robot.joint_names) != tuple(joint_names):
            raise InvalidInputError(
                f"the trajectory is of joints {', '.join(joint_names)}, the robot has {', '.join(robot.joint_names)}; "
                "give the robot, or the group of it, that was planned for."
            )
        self.robot, self.scene, self.conditions = robot, scene, conditions
        self.margin = 0.0 if conditions is None else conditions.margin
        self.self_collision = True if conditions is None else conditions.self_collision
        along = () if robot is None or conditions is None else conditions.along
        self.held = HeldGoals(robot, along) if robot is not None and along else None
        self._version = self._scene_version()
        self._model: ContactModel | None = None

    def _scene_version(self) -> int:
        return getattr(self.scene, "version", 0)

    def seen(self) -> None:
        """The scene as it is now has been looked at."""
        self._version = self._scene_version()

    def changed(self) -> bool:
        """Whether the scene has changed since it was looked at last."""
        if self.robot is None or self._scene_version() == self._version:
            return False
        self.seen()
        return True

    def limits(self, way: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        """(velocity, acceleration) within which to move: the plan's; without one, the robot's at the speed of the
        trajectory."""
        if self.conditions is not None:
            return self.conditions.limits.velocity, self.conditions.limits.acceleration
        own = np.maximum(way.peaks(1), _LEAST_PEAK), np.maximum(way.peaks(2), _LEAST_PEAK)
        if self.robot is None:
            return own
        limits = MotionLimits.of(self.robot)
        # How fast the trajectory is, as a share of what the robot can do: joints that it leaves alone may move too.
        shares = (min(1.0, float((peaks / limit).max())) for peaks, limit in
                  zip(own, (limits.velocity, limits.acceleration), strict=True))  # fmt: skip
        return limits.velocity * next(shares), limits.acceleration * next(shares)

    def free(self, configurations: np.ndarray) -> bool:
        """Whether all configurations (N, dof) are free of collision, as far as is known."""
        model = self._collision()
        return model is None or not model.collides(configurations, self.margin).any()

    def surroundings(self) -> Surroundings | None:
        """What moves around the robot; None where nothing is known of it."""
        if self.robot is None or not isinstance(self.scene, Scene):
            return None
        return Surroundings(self.robot, self.scene, self.margin)

    def first_contact(
        self, parts: Sequence[Trajectory], without: Sequence[str] = ()
    ) -> tuple[float, tuple[str, str]] | None:
        """Seconds until the first contact on the way of some trajectories, and between whom; None if it is free.

        without: objects that are left out, as they move.
        """
        model = self._collision()
        if without and self.robot is not None and isinstance(self.scene, Scene):
            standing = self.scene.copy()
            for name in without:
                standing.remove(name)
            model = CollisionModel(self.robot, standing, self_collision=self.self_collision)
        if model is None:
            return None
        begin = 0.0
        for part in parts:
            times = np.linspace(0.0, part.duration, max(2, int(part.duration / _STEP) + 1))
            configurations = part.at(times)
            touching = np.flatnonzero(model.collides(configurations, self.margin))
            if len(touching):
                first = int(touching[0])
                return begin + float(times[first]), self._pair(configurations[first]) or ("", "")
            begin += part.duration
        return None

    def onwards(
        self, q: np.ndarray, way: Trajectory, behind: float, limits: VelocityAcceleration | None = None
    ) -> Onwards:
        """From rest at q to the end of `way`, of which `behind` seconds have been followed.

        limits: (velocity, acceleration) within which to move; by default those of `limits(way)`.
        """
        limits = self.limits(way) if limits is None else limits
        back = self._back_to(q, way, behind, limits)
        if back is not None:
            return Onwards(back, f"back to the way and on along it, {back.duration:.3f} s")
        pair = self._pair(way.end)
        if pair is not None:
            return Onwards(None, f"{pair[0]!r} and {pair[1]!r} touch at the last configuration", "goal blocked")
        return self._planned(q, way, limits)

    def _back_to(
        self, q: np.ndarray, way: Trajectory, behind: float, limits: VelocityAcceleration
    ) -> Trajectory | None:
        rest = at_rest(way, behind, way.duration, limits=limits) if way.duration - behind > 1e-6 else None
        target = way.at(behind) if rest is not None else way.end
        back = straight(way.joint_names, q, target, limits)
        parts = [part for part in (back, rest) if part is not None]
        if self.held is not None and float(self.held.deviations(np.stack([q, 0.5 * (q + target)])).max()) > 1.0:
            return None
        if not self._is_motion_free(q, target) or self.first_contact(parts) is not None:
            return None
        return join(parts)

    def _planned(self, q: np.ndarray, way: Trajectory, within: VelocityAcceleration) -> Onwards:
        assert self.robot is not None
        effort = None if self.conditions is None else self.conditions.limits.effort
        limits = MotionLimits.of(self.robot, velocity=within[0], acceleration=within[1], effort=effort)
        begin = self._where_goals_hold(q)
        found = plan(
            self.robot,
            way.end,
            scene=self.scene,
            start=begin,
            self_collision=self.self_collision,
            margin=self.margin,
            along=None if self.held is None else self.held.goals,
            limits=limits,
            rng=0 if self.conditions is None else self.conditions.rng,
        )
        if found.reason == "start leaves goals":
            return Onwards(None, f"{found.detail.rstrip('.')}, and no configuration near meets it", "failed")
        if found.stage == "start":
            pair = self._pair(q) or ("", "")
            return Onwards(None, f"{pair[0]!r} and {pair[1]!r} touch where the arm is", "obstacle")
        if found.trajectory is None:
            return Onwards(None, f"no way around was found ({found.stage}: {found.reason})", "obstacle")
        new = found.trajectory
        if begin is not q:
            if not self._is_motion_free(q, begin):
                return Onwards(None, "the goals held along the way cannot be met again without contact", "obstacle")
            new = join([straight(way.joint_names, q, begin, within), new])
        return Onwards(new, f"a new plan to the same configuration, {new.duration:.3f} s")

    def _where_goals_hold(self, q: np.ndarray) -> np.ndarray:
        """The configuration near q that meets the goals held along the way: q itself where it does, or where none
        was found."""
        if self.held is None or float(self.held.deviations(q[None])[0]) <= 1.0:
            return q
        near, good = self.held.projected(q[None])
        return near[0] if good[0] else q

    def _pair(self, q: np.ndarray) -> tuple[str, str] | None:
        """Who comes nearer than the margin at q; None where nobody does."""
        model = self._collision()
        if model is None or not bool(model.collides(q, self.margin)):
            return None
        return model.closest(q)[1] if self.margin > 0.0 else model.colliding_pair(q)

    def _is_motion_free(self, a: np.ndarray, b: np.ndarray) -> bool:
        from memetik.collision.continuous import check_motion
        from memetik.motion.planning.free_space import CheckerSpace

        model = self._collision()
        if isinstance(model, _CheckerModel):
            assert self.robot is not None
            return CheckerSpace(self.robot, model.checker).edge(a, b)
        return model is None or bool(check_motion(model, a, b))

    def _collision(self) -> ContactModel | None:
        """The exact model, or the plan's own checker; None without a robot that has shapes."""
        if self._model is None and self.robot is not None:
            if isinstance(self.scene, ExternalChecker):
                self._model = _CheckerModel(self.scene)
            elif self.conditions is not None:
                from memetik.collision.context import CollisionContext

                # As the planner sees it: pairs that are always within the margin are left out.
                self._model = CollisionContext.shared(self.robot, self.scene, self.self_collision, self.margin).exact
            else:
                from memetik.collision.exact import CollisionModel

                self._model = CollisionModel(self.robot, self.scene)
        return self._model


class _CheckerModel:
    """An external checker, asked as exact models are."""

    def __init__(self, checker: ExternalChecker):
        self.checker = checker

    def collides(self, q: np.ndarray, margin: float = 0.0) -> np.ndarray:
        rows = np.atleast_2d(q)
        answers = np.array([bool(self.checker.collides(row)) for row in rows])
        return answers if q.ndim == 2 else answers[0]

    def colliding_pair(self, q: np.ndarray) -> tuple[str, str] | None:
        return ("the robot", "what the checker knows") if self.collides(q) else None

    def closest(self, q: np.ndarray) -> tuple[float, tuple[str, str] | None, None]:
        return 0.0, self.colliding_pair(q), None
