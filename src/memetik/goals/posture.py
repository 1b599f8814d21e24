"""Preferences on the whole posture: AvoidLimits, Center, Displacement, Manipulability, Effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from memetik.errors import GoalError, InvalidInputError, suggest
from memetik.goals.base import PREFER, Goal, Kind, put
from memetik.goals.checks import as_number, as_positive
from memetik.goals.compiler import Compiler
from memetik.goals.joints import joint_entries
from memetik.goals.pose import DEFAULT_TOLERANCE, LinkGoal, as_vector
from memetik.robot.kinematics import STANDARD_GRAVITY
from memetik.robot.robot import Robot

Weights = Literal["velocity", "equal"] | Mapping[str, float] | Sequence[float]
"""How much joints count: "velocity": as 1 / velocity limit, with mean 1 over the robot's joints, so that slow joints
move less; "equal": 1 each; {joint: weight}, 1 for those not named; or one for each entry of q."""


@dataclass(frozen=True, eq=False, repr=False)
class PostureGoal(Goal):
    """A goal on the values of joints.

    joints     those it speaks of, as in `robot.joint_names`; None: all that the other goals move.
    weights    u: "velocity", "equal", {joint: weight} or (dof,).
    tolerance  bound on the norm of the residual where the goal is made a must with priority=0.
    """

    priority: int = field(default=PREFER, kw_only=True)
    joints: Any = field(default=None, kw_only=True)
    weights: Any = field(default="velocity", kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, tolerance=as_positive(self.tolerance, f"the tolerance of {type(self).__name__}"))
        if isinstance(self.joints, str):
            put(self, joints=(self.joints,))
        elif self.joints is not None:
            put(self, joints=tuple(self.joints))
        if isinstance(self.weights, str):
            if self.weights not in ("velocity", "equal"):
                choices = ("velocity", "equal")
                raise GoalError(f"there are no weights {self.weights!r}; {suggest(self.weights, choices)}")
        elif isinstance(self.weights, Mapping):
            put(self, weights={name: _weight(value, name) for name, value in self.weights.items()})
        else:
            put(self, weights=np.array([_weight(value, f"entry {k}") for k, value in enumerate(self.weights)]))

    def default_name(self) -> str:
        return type(self).__name__.lower()

    def _add(self, compiler: Compiler, entries: Sequence[int], rows: Sequence[Sequence[float]]) -> int:
        return compiler.term(
            Kind.JOINTS, np.array(rows), label="posture", unit="rad", rows=len(entries), tolerance=self.tolerance,
            entries=entries,
        )  # fmt: skip

    def _bounded(self, robot: Robot) -> list[int]:
        """The entries that have limits on both sides."""
        finite = np.isfinite(robot.lower) & np.isfinite(robot.upper)
        entries = [k for k in joint_entries(robot, self.joints) if finite[k]]
        if not entries:
            raise GoalError(f"{type(self).__name__} needs joints with limits, and robot {robot.name!r} has none there.")
        return entries

    def _weights(self, robot: Robot, entries: Sequence[int]) -> np.ndarray:
        if isinstance(self.weights, str):
            return velocity_weights(robot)[entries] if self.weights == "velocity" else np.ones(len(entries))
        if isinstance(self.weights, Mapping):
            weights = np.ones(robot.dof)
            for name, value in self.weights.items():
                weights[joint_entries(robot, (name,))] = value
            return weights[entries]
        if len(self.weights) != robot.dof:
            raise GoalError(f"the weights of {type(self).__name__} are {robot.dof} numbers, not {len(self.weights)}.")
        return self.weights[list(entries)]


@dataclass(frozen=True, eq=False, repr=False)
class AvoidLimits(PostureGoal):
    """Joints stay in the middle half of their range. A preference unless priority=0.

    r_i = u_i max(0, 2 |q_i - middle_i| - range_i / 2) for joints with limits.
    """

    def compile(self, compiler: Compiler) -> None:
        robot = compiler.robot
        entries = self._bounded(robot)
        rows = []
        for k, u in zip(entries, self._weights(robot, entries), strict=True):
            half = 0.5 * u * (robot.upper[k] - robot.lower[k])
            rows.append((2.0 * u, 0.5 * (robot.lower[k] + robot.upper[k]), -half, half))
        self._add(compiler, entries, rows)


@dataclass(frozen=True, eq=False, repr=False)
class Center(PostureGoal):
    """Joints are near the middle of their range. A preference unless priority=0.

    r_i = u_i (q_i - middle_i) for joints with limits.
    """

    def compile(self, compiler: Compiler) -> None:
        robot = compiler.robot
        entries = self._bounded(robot)
        weights = self._weights(robot, entries)
        self._add(
            compiler,
            entries,
            [(u, 0.5 * (robot.lower[k] + robot.upper[k]), 0.0, 0.0) for k, u in zip(entries, weights, strict=True)],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Displacement(PostureGoal):
    """Joints move little from the seed, or from a given posture. A preference unless priority=0.

    r_i = u_i (q_i - reference_i).

    reference  a posture (dof,) or {joint: value}; None: the seed of each solve.
    """

    reference: Any = None

    def compile(self, compiler: Compiler) -> None:
        robot = compiler.robot
        entries = joint_entries(robot, self.joints)
        try:
            reference = np.zeros(robot.dof) if self.reference is None else robot.q(self.reference)
        except InvalidInputError as error:
            raise GoalError(f"the reference of Displacement is no posture of robot {robot.name!r}: {error}") from None
        if isinstance(self.reference, Mapping):
            entries = [k for k in entries if k in joint_entries(robot, tuple(self.reference))]
        weights = self._weights(robot, entries)
        rows = [(u, reference[k], 0.0, 0.0) for k, u in zip(entries, weights, strict=True)]
        term = self._add(compiler, entries, rows)
        if self.reference is None:
            compiler.seed_copies.extend((entry, term, 4 * place + 1) for place, entry in enumerate(entries))


@dataclass(frozen=True, eq=False, repr=False)
class Manipulability(LinkGoal):
    """The link can move well in all directions: its Jacobian J is far from singular. A preference unless priority=0.

    r = 1 / (1 + m / reference), m = sqrt(det(J J^T)), J of the link's origin (or `offset`) in the world: half at m =
    reference, one where J is singular.

    part       "all" six rows of J, "translation" or "rotation".
    reference  the manipulability that counts as usual; by default the median over random postures.
    tolerance  bound on r where the goal is made a must with priority=0.
    """

    priority: int = field(default=PREFER, kw_only=True)
    part: Literal["all", "translation", "rotation"] = field(default="all", kw_only=True)
    reference: float | None = field(default=None, kw_only=True)
    tolerance: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.part not in _PARTS:
            raise GoalError(f"there is no part {self.part!r} of a Jacobian; {suggest(self.part, _PARTS)}")
        if self.relative_to is not None:
            raise GoalError("Manipulability is measured in the world: relative_to has no meaning for it.")
        if self.reference is not None:
            put(self, reference=as_positive(self.reference, "the reference of Manipulability"))
        put(self, tolerance=as_positive(self.tolerance, "the tolerance of Manipulability"))

    def compile(self, compiler: Compiler) -> None:
        robot = compiler.robot
        frame = compiler.point(self.link, self.offset)
        needed = 6 if self.part == "all" else 3
        moving = int(robot.moves(self.link).sum())
        if moving < needed:
            raise GoalError(
                f"link {self.link!r} is moved by {moving} joints, too few to move in all {needed} directions of "
                f"part={self.part!r}: its manipulability is zero everywhere."
            )
        reference = self._usual(robot) if self.reference is None else self.reference
        compiler.term(
            Kind.MANIPULABILITY, [_PARTS.index(self.part), reference], label="manipulability", unit="", rows=1,
            tolerance=self.tolerance, frame=frame,
        )  # fmt: skip

    def _usual(self, robot: Robot) -> float:
        postures = robot.random(np.random.default_rng(0), 101)
        point = None if self.offset is None else self.offset[:3, 3]
        median = float(np.median(robot.manipulability(self.link, postures, part=self.part, point=point)))
        if not median > 1e-9:
            raise GoalError(f"link {self.link!r} cannot move in all directions of part={self.part!r} in any posture.")
        return median


@dataclass(frozen=True, eq=False, repr=False)
class Effort(Goal):
    """Joints carry little weight. A preference unless priority=0.

    r_i = u_i tau_i, tau the torques (N m) and forces (N) that hold the robot still.

    gravity    m/s^2 in the world.
    weights    u: "limits": 1 / effort limit, so that r is a share of it (the largest limit for joints without one);
               "equal": 1 each; {joint: weight} or (dof,).
    tolerance  bound on the norm of r where the goal is made a must with priority=0.
    """

    priority: int = field(default=PREFER, kw_only=True)
    gravity: Any = field(default=STANDARD_GRAVITY, kw_only=True)
    weights: Any = field(default="limits", kw_only=True)
    tolerance: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, gravity=as_vector(self.gravity, "the gravity of Effort"))
        put(self, tolerance=as_positive(self.tolerance, "the tolerance of Effort"))
        if isinstance(self.weights, str) and self.weights not in ("limits", "equal"):
            raise GoalError(f"there are no weights {self.weights!r}; {suggest(self.weights, ('limits', 'equal'))}")

    def compile(self, compiler: Compiler) -> None:
        robot = compiler.robot
        if not robot.mass > 0.0:
            raise GoalError(f"Effort needs masses, and robot {robot.name!r} has none in its description.")
        weights = self._weights(robot)
        compiler.term(
            Kind.EFFORT, np.concatenate([self.gravity, weights]), label="effort", unit="", rows=robot.dof,
            tolerance=self.tolerance,
        )  # fmt: skip

    def _weights(self, robot: Robot) -> np.ndarray:
        if isinstance(self.weights, str):
            known = np.isfinite(robot.effort) & (robot.effort > 0.0)
            if self.weights == "equal" or not known.any():
                return np.ones(robot.dof)
            return 1.0 / np.where(known, robot.effort, robot.effort[known].max())
        if isinstance(self.weights, Mapping):
            weights = np.ones(robot.dof)
            for name, value in self.weights.items():
                weights[joint_entries(robot, (name,))] = _weight(value, name)
            return weights
        weights = np.array([_weight(value, f"entry {k}") for k, value in enumerate(self.weights)])
        if weights.shape != (robot.dof,):
            raise GoalError(f"the weights of Effort are {robot.dof} numbers, not {len(weights)}.")
        return weights


_PARTS = ("all", "translation", "rotation")


def velocity_weights(robot: Robot) -> np.ndarray:
    """1 / velocity limit (dof,), scaled to mean 1; the fastest known velocity for joints without a limit."""
    known = np.isfinite(robot.velocity) & (robot.velocity > 0.0)
    if not known.any():
        return np.ones(robot.dof)
    slowness = 1.0 / np.where(known, robot.velocity, robot.velocity[known].max())
    return slowness / slowness.mean()


def _weight(value: Any, name: str) -> float:
    number = as_number(value, f"the weight of {name}")
    if number < 0.0:
        raise GoalError(f"the weight of {name} must not be negative, not {value!r}.")
    return number
