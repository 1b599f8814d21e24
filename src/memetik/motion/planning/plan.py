"""What planning returns: a trajectory, or the stage that failed and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.motion.planning.free_space import SceneLike
    from memetik.motion.timing.limits import MotionLimits
    from memetik.motion.timing.trajectory import Trajectory
    from memetik.robot.robot import Robot
    from memetik.scene.scene import Scene

STAGES = ("start", "configurations", "path", "timing", "done")
"""The stages of planning, in their order. A plan's `stage` is the one it failed in, or "done"."""

REASONS = (
    "solved",
    "goal equals start",
    "start outside limits",
    "start opens loops",
    "start leaves goals",
    "start in collision",
    "goal outside limits",
    "goal opens loops",
    "goal leaves goals",
    "goal in collision",
    "out of reach",
    "limits exclude it",
    "too few joints for the demands",
    "in collision",
    "not found in time",
    "no path found in time",
    "no path proved in time",
    "cancelled",
    "cannot be timed",
    "start not on the path",
    "cannot be followed",
    "followed in part",
)
"""What a plan's `reason` may be. Those of the stage "configurations" are inverse kinematics' own."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanConditions:
    """What a plan was made under. Execution, recovery and new plans on the way keep to it.

    limits holds the speed that was asked for: velocity_scale and acceleration_scale are in it; along are the goals that
    hold along the motion.
    """

    limits: MotionLimits
    scene: SceneLike = None
    self_collision: bool = True
    margin: float = 0.0
    rng: int = 0
    along: tuple[Goal, ...] = ()


@dataclass(slots=True, eq=False)
class Plan:
    """A planned motion, or what stood in its way.

    success, stage, reason, detail   whether it was planned; the failing stage or "done"; one of REASONS; a sentence
    trajectory      the timed motion, None where there is none
    path            (N, dof) the points of straight joint motions that it follows; with closed loops straight in the
                    driving joints, which the passive ones follow
    start, goal     configurations (dof,): where it starts, and the candidate that it ends at
    candidates      (K, dof) configurations that meet the goals, those with the quickest straight motion first
    times           seconds by stage
    tried           what was done, line by line
    via             (K, dof) the waypoints that it passes; None where none were asked for
    points_on_path  (M, dof) the configurations along a Cartesian path
    approach_time   seconds of a Cartesian plan's trajectory before its path begins
    fraction        how much of a Cartesian path was followed, 0 to 1; 1 for other plans
    conditions      scene, margin, limits and seed that it was made under, which its execution keeps to
    """

    robot: Robot
    start: np.ndarray
    success: bool = False
    stage: str = "start"
    reason: str = ""
    detail: str = ""
    trajectory: Trajectory | None = None
    path: np.ndarray | None = None
    goal: np.ndarray | None = None
    candidates: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    times: dict[str, float] = field(default_factory=dict[str, float])
    tried: list[str] = field(default_factory=list[str])
    fraction: float = 1.0
    approach_time: float = 0.0
    via: np.ndarray | None = None
    points_on_path: np.ndarray | None = None
    conditions: PlanConditions | None = None

    @property
    def time(self) -> float:
        """Seconds that planning took."""
        return sum(self.times.values())

    @property
    def duration(self) -> float:
        """Seconds that the motion takes; infinite where there is none."""
        return float("inf") if self.trajectory is None else self.trajectory.duration

    @property
    def length(self) -> float:
        """The length of the path in joint space (Euclidean norm of the changes); infinite where there is none."""
        if self.path is None:
            return float("inf")
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum())

    def explain(self) -> str:
        """Stage by stage: what was tried, how long it took, and what came of it."""
        state = f"planned: {self.duration:.3f} s of motion" if self.success else f"not planned, stage {self.stage!r}"
        lines = [f"{state} ({self.reason})." + (f" {self.detail}" if self.detail else "")]
        lines += [f"  {stage}: {seconds * 1e3:.2f} ms" for stage, seconds in self.times.items()]
        lines += [f"  - {line}" for line in self.tried]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        arrays = {name: getattr(self, name) for name in ("start", "goal", "path", "via", "candidates")}
        return {
            "robot": self.robot.name,
            **{name: getattr(self, name) for name in ("success", "stage", "reason", "detail")},
            "joint_names": list(self.robot.joint_names),
            **{name: None if rows is None else rows.tolist() for name, rows in arrays.items()},
            "duration": None if self.trajectory is None else self.trajectory.duration,
            "fraction": self.fraction,
            "times": dict(self.times),
            "tried": list(self.tried),
            "trajectory": None if self.trajectory is None else self.trajectory.to_dict(),
        }

    def resampled(self, rate: float) -> Trajectory:
        """Its trajectory by points at a fixed rate (`Trajectory.resampled`), proved free where the plan is; raises
        TimingError where the rate is too low for that."""
        from memetik.errors import InvalidInputError
        from memetik.motion.planning.free_space import space_for
        from memetik.motion.planning.held_space import HeldGoals
        from memetik.motion.planning.proofs import certify
        from memetik.motion.timing.timing import TimingError

        if self.trajectory is None:
            raise InvalidInputError(f"there is no trajectory to resample: {self.reason}.")
        sampled, made = self.trajectory.resampled(rate), self.conditions
        if made is not None:
            space = space_for(self.robot, made.scene, self_collision=made.self_collision, margin=made.margin)
            proof = certify(sampled, space)
            if not proof.free:
                touching = f": {' and '.join(proof.pair)} come too near" if proof.pair else ""
                raise TimingError(f"points at {rate:g} Hz cannot be proved free{touching}; take a higher rate.")
            if made.along:
                off = HeldGoals(self.robot, made.along).deviations(
                    sampled.at(np.linspace(0.0, sampled.duration, int(1000.0 * sampled.duration) + 2))
                )
                if off.max() > 1.0:
                    raise TimingError(f"points at {rate:g} Hz leave the goals along the way; take a higher rate.")
        return sampled

    def save(self, path: str | PathLike[str]) -> None:
        """Write its trajectory, as `Trajectory.save` does; as MCAP with the robot's description."""
        from memetik.errors import InvalidInputError

        if self.trajectory is None:
            raise InvalidInputError(f"there is no trajectory to save: {self.reason}.")
        if Path(path).suffix == ".mcap":
            import_module("memetik.ros.recordings.recording").save_plan(self, path)
        else:
            self.trajectory.save(path)

    def show(self, scene: Scene | None = None, *, height: int = 480, speed: float = 1.0) -> Any:
        """The motion as it runs, to look at: shown by itself in a notebook; `.open()` opens a browser."""
        return import_module("memetik.studio.views.show").show_plan(self, scene, height=height, speed=speed)

    def save_html(self, path: str | PathLike[str], scene: Scene | None = None, *, speed: float = 1.0) -> None:
        """Write the motion in its scene as one page that plays in any browser, without a network or a server."""
        self.show(scene, speed=speed).save(path)

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        if self.success:
            points = 0 if self.path is None else len(self.path)
            return f"<Plan: {self.duration:.3f} s of motion, {points} points, in {self.time * 1e3:.2f} ms>"
        return f"<Plan: failed in stage {self.stage!r}: {self.reason}>"
