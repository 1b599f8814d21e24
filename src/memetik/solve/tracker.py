"""Follows streaming targets: a configuration for each instant, within limits of velocity and acceleration, without
jumps."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik._moved import serve_old_names
from memetik.errors import GoalError, InvalidInputError, UnknownNameError
from memetik.geometry.transforms import PoseLike, as_pose
from memetik.goals.base import Goal
from memetik.goals.pose import Pose
from memetik.goals.regularization import MinimalDisplacement
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.inputs import Array, Seed, Target, checked_seed, checked_targets
from memetik.solve.problem import Problem, unused_name
from memetik.solve.solution import Solution
from memetik.solve.tracker_step import TrackerStep
from memetik.solve.tracker_surroundings import TrackerSurroundings
from memetik.solve.twists import CarriedPose

logger = logging.getLogger(__name__)

DEFAULT_SPEED = 2.0
"""Radians or metres per second of joints for which a robot states no velocity limit."""

TIME_TO_FULL_SPEED = 0.5
"""Seconds that joints without an acceleration limit take to their velocity limit."""

GENTLE_RATE, QUICK_RATE, MOST_RATE = 6.0, 100.0, 0.4
"""How quickly a configuration settles in the freedom left by the goals, radians per second: where accelerations are
limited, where they are not (benchmarks/tracker.py), and at most per step."""

Scale = float | Mapping[str, float]
"""One number, or {joint: number} for some."""

Configuration = ArrayLike | Mapping[str, float] | Solution | TrackerStep
"""(dof,) or {joint: value}, or what has such a configuration."""


class Tracker:
    """Moves a robot towards targets that arrive one by one, `dt` seconds apart.

    Every step changes the configuration by what keeps each joint within its limits of position, velocity and
    acceleration, including the way it needs to brake. Targets that such motions can follow are followed without lag;
    what cannot be followed is caught up with as fast as all joints can brake again. Among the configurations that meet
    the goals it moves towards what soft goals ask for, and towards the reference configuration, so that closed paths
    end where they began.

    A body that turns freely, such as a floating base, is tracked in angles far from singular where the robot states no
    velocity or acceleration limits for its three angles: it tumbles through any orientation, though the angles in q may
    change quickly where they are singular.

    Among obstacles, where the problem has a scene or looks at self-collision, no step is made from which the robot
    could not brake in time: the step and the braking after it are proved free of the real geometry, at the problem's
    margin. Where a step is not, it slides along what is in the way, or brakes. Where nothing is, steps are the same.

    problem             its goals, fixed joints and surroundings. Each `step` takes the targets that its goals leave
                        open, and sees the scene as it is then.
    seed                the configuration to start from, (dof,) or {joint: value}; by default the middle of the limits.
    dt                  seconds from one step to the next.
    velocity_scale      times the robot's velocity limits: one number, or {joint: number} for some.
    acceleration_scale  times its acceleration limits, likewise; infinity: no limit.
    reference           configuration that the freedom left by the goals is drawn to; by default the seed. Joints that
                        no goal moves follow it. `tracker.reference = q` changes it, at each step if wanted (an
                        animation).
    reference_weight    how much it counts against the weights of soft goals; 0: not at all.
    blend               0..1: 0 gives the configuration that the goals ask for, 1 the reference configuration.
    rate                radians per second: how quickly soft goals and reference are approached, critically damped; by
                        default 6, and 100 where no acceleration is limited, but no more than 0.4 / dt.
    smoothing           0..1: share of the way to a new target that is left for later steps.
    latency             seconds by which targets come late: they are carried on with their velocity.
    outlier             metres or radians: a target that jumps by more is not believed for the first `outlier_steps`.
    patience            seconds without progress after which another configuration is searched for, some iterations in
                        each step, and steered to; infinity: never.
    iterations          of the local search in one step, at most.
    obstacle_speed      metres per second that no point of an object in the scene exceeds: one number for all, or
                        {object: number} for those that move. Objects that keep to it, and whose poses the scene has at
                        each step, are not touched but by a robot at rest.
    obstacle_latency    seconds by which their poses may be old.

    A tracker belongs to one thread at a time; steps of different trackers run in parallel.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: Seed = None,
        dt: float = 0.01,
        velocity_scale: Scale = 1.0,
        acceleration_scale: Scale = 1.0,
        reference: Configuration | None = None,
        reference_weight: float = 0.03,
        blend: float = 0.0,
        rate: float | None = None,
        smoothing: float = 0.0,
        latency: float = 0.0,
        outlier: float | None = None,
        outlier_steps: int = 5,
        patience: float = 0.3,
        iterations: int = 6,
        obstacle_speed: Scale = 0.0,
        obstacle_latency: float = 0.0,
    ):
        if not isinstance(problem, Problem):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"a Tracker needs a Problem, not {type(problem).__name__}.")
        self.robot: Robot = problem.robot
        self._surroundings: TrackerSurroundings | None = None
        if problem.scene is not None or problem.self_collision:
            if self.robot.description.loops:
                raise InvalidInputError(f"robot {self.robot.name!r} has closed loops: its Tracker takes no scene.")
            latency = _number("obstacle_latency", obstacle_latency, 0.0, 1e3)
            scene = cast("Scene | None", problem.scene)
            self._surroundings = TrackerSurroundings(self.robot, scene, problem.margin, obstacle_speed, latency)
            problem = Problem(self.robot, problem.goals, fixed=problem.fixed)
        self._goals: dict[str, Goal] = dict(zip(problem.goal_names, problem.goals, strict=True))
        self._disabled: set[str] = set()
        self._carried: dict[str, CarriedPose] = {}
        self._fixed: dict[str, float | None] = dict(problem.fixed)
        self._problem = problem
        options = _core.TrackerOptions()
        for name, value, low, high in (
            ("dt", dt, 1e-9, 1e9), ("reference_weight", reference_weight, 0.0, 1e9), ("blend", blend, 0.0, 1.0),
            ("smoothing", smoothing, 0.0, 1.0), ("latency", latency, 0.0, 1e6),
            ("outlier", math.inf if outlier is None else outlier, 0.0, math.inf), ("patience", patience, 0.0, math.inf),
        ):  # fmt: skip
            setattr(options, name, _number(name, value, low, high))
        velocity, acceleration = self._velocity, self._acceleration = self._limits(velocity_scale, acceleration_scale)
        if rate is None:
            rate = min(GENTLE_RATE if np.isfinite(acceleration).any() else QUICK_RATE, MOST_RATE / options.dt)
        options.rate = _number("rate", rate, 0.0, 1e6)
        options.iterations = _whole("iterations", iterations, 1, 1000)
        options.outlier_steps = _whole("outlier_steps", outlier_steps, 0, 1_000_000)
        self._options = options
        self._tell_of_assumed_speeds()
        start = checked_seed(problem, seed)
        if start.ndim != 1:
            raise InvalidInputError(f"the seed of a Tracker is one configuration, not an array {start.shape}.")
        if self.robot.description.loops:
            start = self.robot.close(start)
        options.tumbles = not self._limits_orientation()
        self._core = _core.Tracker(problem.core, velocity, acceleration, np.ascontiguousarray(start), options)
        if self._surroundings is not None:
            self._surroundings.check_start(start)
            self._surroundings.look(self._core)
        self._hold()
        if reference is not None:
            self.reference = reference

    def step(self, *targets: Target) -> TrackerStep:
        """Moves for `dt` seconds towards the targets: those left open by enabled goals, in their order, or one dict
        {goal name: target}, in which those of disabled goals may stay."""
        around = self._surroundings
        if around is not None:
            around.look(self._core)
        plain = self._plain and len(targets) == len(self._problem.open_targets)
        if not plain or not self._core.step(targets, self._callback):  # pyright: ignore[reportUnknownMemberType]
            self._core.step(self._checked(targets), self._callback)  # pyright: ignore[reportUnknownMemberType]
        if self.robot.description.loops:
            self._close_loops()
        obstacle = None
        if around is not None and self._core.guard_end != _core.GuardEnd.kept:
            obstacle = around.names(self._core.guard_contact)
        return TrackerStep(self._problem, self._core, self._options.dt, obstacle)

    def step_twist(self, twist: ArrayLike, *, goal: str | None = None, frame: str | None = None) -> TrackerStep:
        """Moves for `dt` seconds with a twist (6,): m/s and rad/s of the link of a Pose goal, in the axes of `frame`, a
        link, or of the world. goal: which one; other open targets stay where this carried them, or the links are."""
        poses = {n: g for n, g in self._goals.items() if isinstance(g, Pose) and n not in self._disabled}
        name = goal if goal is not None else next(iter(poses), None)
        open_names = [self._problem.goal_names[target.goal] for target in self._problem.open_targets]
        if name not in poses or any(other not in poses for other in open_names) or name not in open_names:
            raise InvalidInputError("step_twist moves the link of a Pose goal whose target is open, as must be all.")
        q = self.q
        for other in open_names:
            if other not in self._carried:
                self._carried[other] = CarriedPose(self.robot, poses[other].link, q)
        self._carried[name].advance(twist, frame, q, self.dt)
        return self.step(*(self._carried[other].pose for other in open_names))

    def in_world(self, pose: PoseLike, frame: str) -> Array:
        """A pose that is given in the frame of a link, as the robot is now, in the world: a target for `step`."""
        return self.robot.pose(frame, self.q) @ as_pose(pose)

    def reset(self, q: Configuration | None = None) -> None:
        """Puts the robot at rest in a configuration, by default the one it is in."""
        start = self._configuration(self.q if q is None else q, "the configuration")
        if self._surroundings is not None and q is not None:
            self._surroundings.check_start(self.robot.clip(start))
        self._core.reset(start)
        self._carried.clear()

    @property
    def unlimited(self) -> tuple[str, ...]:
        """Joints whose velocity the description does not limit: DEFAULT_SPEED is taken for them."""
        limits = zip(self.robot.joint_names, self.robot.velocity.tolist(), strict=True)
        return tuple(name for name, limit in limits if not math.isfinite(limit))

    @property
    def limits(self) -> tuple[Array, Array]:
        """Of velocity and acceleration, (dof,) each, as scaled."""
        return self._velocity.copy(), self._acceleration.copy()

    @property
    def q(self) -> Array:
        """The configuration that the last step gave out, (dof,)."""
        return np.asarray(self._core.q)

    @property
    def velocity(self) -> Array:
        """Of the last step, (dof,), radians or metres per second."""
        return np.asarray(self._core.last_change) / self._options.dt

    @property
    def problem(self) -> Problem:
        """The enabled goals and fixed joints, as they are now."""
        return self._problem

    @property
    def goals(self) -> tuple[str, ...]:
        """Names of all goals, also of those that are disabled."""
        return tuple(self._goals)

    @property
    def reference(self) -> Array:
        """The configuration that the freedom left by the goals is drawn to, (dof,)."""
        return np.asarray(self._core.reference)

    @reference.setter
    def reference(self, given: Configuration) -> None:
        self._core.set_reference(self._configuration(given, "the reference"))

    @property
    def blend(self) -> float:
        """0: the configuration that the goals ask for, 1: the reference configuration. What changes it moves within the
        limits."""
        return self._options.blend

    @blend.setter
    def blend(self, value: float) -> None:
        self._options.blend = _number("blend", value, 0.0, 1.0)
        self._core.set_options(self._options)

    @property
    def reference_weight(self) -> float:
        """How much the reference configuration counts against the weights of soft goals."""
        return self._options.reference_weight

    @reference_weight.setter
    def reference_weight(self, value: float) -> None:
        self._options.reference_weight = _number("reference_weight", value, 0.0, 1e9)
        self._core.set_options(self._options)

    @property
    def dt(self) -> float:
        """Seconds from one step to the next."""
        return self._options.dt

    @dt.setter
    def dt(self, value: float) -> None:
        self._options.dt = _number("dt", value, 1e-9, 1e9)
        self._core.set_options(self._options)

    def add(self, goal: Goal) -> str:
        """One more goal, from the next step on. Returns its name."""
        if not isinstance(goal, Goal):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"goals are made by mk.Pose, mk.Position and the like, not {type(goal).__name__}.")
        if goal.name in self._goals:
            raise GoalError(f"this tracker has a goal {goal.name!r} already.")
        name = goal.name or unused_name(goal, self._goals)
        self._change({**self._goals, name: goal}, self._disabled, self._fixed)
        return name

    def remove(self, name: str) -> None:
        """Without this goal, from the next step on."""
        self._known(name)
        self._change({k: g for k, g in self._goals.items() if k != name}, self._disabled - {name}, self._fixed)

    def replace(self, name: str, goal: Goal) -> None:
        """Another goal in the place of this one, under its name."""
        self._known(name)
        self._change({**self._goals, name: goal}, self._disabled, self._fixed)

    def enable(self, name: str, enabled: bool = True) -> None:
        """Whether a goal counts. One that does not takes no target either."""
        self._known(name)
        self._change(self._goals, self._disabled - {name} if enabled else self._disabled | {name}, self._fixed)

    def disable(self, name: str) -> None:
        """Lets a goal not count until it is enabled again."""
        self.enable(name, False)

    def set_weight(self, name: str, weight: float) -> None:
        """Another weight for a goal."""
        self._known(name)
        self.replace(name, replace(self._goals[name], weight=weight))

    def fix(self, joints: str | Iterable[str] | Mapping[str, float]) -> None:
        """Holds joints where they are, or brings them to {joint: value} within the limits and holds them there."""
        given: dict[str, float | None] = dict.fromkeys((joints,) if isinstance(joints, str) else joints)
        if isinstance(joints, Mapping):
            given.update(cast("Mapping[str, float]", joints))
        self._change(self._goals, self._disabled, {**self._fixed, **given})

    def free(self, joints: str | Iterable[str]) -> None:
        """Lets the goals move these joints again."""
        names = (joints,) if isinstance(joints, str) else tuple(joints)
        for name in names:
            self.robot.joint_index(name)
        self._change(self._goals, self._disabled, {k: v for k, v in self._fixed.items() if k not in names})

    def __repr__(self) -> str:
        off = f", {', '.join(sorted(self._disabled))} disabled" if self._disabled else ""
        return f"<Tracker of {self.robot.name!r}, {', '.join(self._goals) or 'no goals'}{off}, every {self.dt:g} s>"

    def _change(self, goals: dict[str, Goal], disabled: set[str], fixed: dict[str, float | None]) -> None:
        # Names stay what they are when other goals come and go.
        counting = [replace(goal, name=name) for name, goal in goals.items() if name not in disabled]
        problem = Problem(self.robot, counting or MinimalDisplacement(self.reference), fixed=fixed)
        self._problem, self._goals, self._disabled, self._fixed = problem, goals, disabled, fixed
        self._carried.clear()
        self._hold()

    def _hold(self) -> None:
        entries = [self.robot.joint_index(name) for name in self._fixed]
        q = self.q
        values = [q[k] if value is None else value for k, value in zip(entries, self._fixed.values(), strict=True)]
        self._core.use(self._problem.core, entries, [float(value) for value in values])
        self._callback = self._problem.callback()
        self._plain = all(target.convert is None for target in self._problem.open_targets)

    def _close_loops(self) -> None:
        """Lets the passive joints follow the driving ones; where the loops do not close, the step is not made."""
        q = self.q
        before = q - np.asarray(self._core.last_change)
        try:
            self._core.correct(np.ascontiguousarray(self.robot.close(q)))
        except InvalidInputError:
            self._core.correct(np.ascontiguousarray(before))

    def _known(self, name: str) -> None:
        if name not in self._goals:
            raise UnknownNameError("goal", name, "this tracker", self._goals)

    def _configuration(self, given: Configuration, what: str) -> Array:
        own = given.q if isinstance(given, Solution | TrackerStep) else given
        array = np.array(self.robot.q(own) if isinstance(own, Mapping) else own, dtype=float, order="C")
        if array.shape != (self.robot.dof,) or not np.isfinite(array).all():
            raise InvalidInputError(
                f"{what} is {self.robot.dof} finite numbers or {{joint: value}}, not {given!r:.80}."
            )
        return array

    def _checked(self, targets: tuple[Target, ...]) -> tuple[Array, ...]:
        if len(targets) == 1 and isinstance(targets[0], Mapping):
            targets = ({name: target for name, target in targets[0].items() if name not in self._disabled},)
        checked = checked_targets(self._problem, targets)
        for target, declared in zip(checked, self._problem.open_targets, strict=True):
            if target.ndim > len(declared.shape):
                name = self._problem.goal_names[declared.goal]
                raise InvalidInputError(f"a Tracker takes one target at a time for {name!r}, not {target.shape}.")
        return checked

    def _tell_of_assumed_speeds(self) -> None:
        names = self.unlimited
        if names:
            listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            logger.warning(
                "tracker of robot %r: no velocity limit is stated for %s; %g rad/s or m/s is taken. State limits in "
                "the description, or with joint_limits= of load_robot.", self.robot.name, listed, DEFAULT_SPEED
            )  # fmt: skip

    def _limits_orientation(self) -> bool:
        """Whether the robot states how fast the angles of a body that turns freely may change."""
        stated = np.isfinite(self.robot.velocity) | np.isfinite(self.robot.acceleration)
        turning = [joint for joint in self.robot.description.joints if joint.traits.has_rotation_order]
        angles = {f"{joint.name}/{axis.name}" for joint in turning for axis in joint.traits.axes if axis.angular}
        return any(stated[k] for k, name in enumerate(self.robot.joint_names) if name in angles)

    def _limits(self, velocity_scale: Scale, acceleration_scale: Scale) -> tuple[Array, Array]:
        robot = self.robot
        velocity = np.where(np.isfinite(robot.velocity), robot.velocity, DEFAULT_SPEED)
        acceleration = np.where(np.isfinite(robot.acceleration), robot.acceleration, velocity / TIME_TO_FULL_SPEED)
        for name, given, values in (
            ("velocity_scale", velocity_scale, velocity),
            ("acceleration_scale", acceleration_scale, acceleration),
        ):
            scales = given if isinstance(given, Mapping) else dict.fromkeys(robot.joint_names, given)
            for joint, scale in cast("Mapping[str, float]", scales).items():
                entry = robot.joint_index(joint)
                number = _number(f"the {name} of {joint!r}", scale, 0.0, math.inf)
                # A joint that cannot move stays so, however it is scaled.
                values[entry] = values[entry] * number if values[entry] > 0.0 else 0.0
        return velocity, acceleration


def _number(name: str, value: float, low: float, high: float) -> float:
    if not isinstance(value, int | float | np.number) or not low <= value <= high:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"{name} of a Tracker must be a number in {low:g}..{high:g}, not {value!r}.")
    return float(value)


def _whole(name: str, value: int, low: int, high: int) -> int:
    if not isinstance(value, int | np.integer) or not low <= value <= high:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"{name} of a Tracker must be a whole number in {low}..{high}, not {value!r}.")
    return int(value)


serve_old_names(__name__)
