"""Soft goals on all joints: AvoidLimits, CenterJoints, MinimalDisplacement, Manipulability, GravityTorque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import SeedCopy, TermKind
from memetik.errors import GoalError, InvalidInputError, suggest
from memetik.goals.arguments import Array, array_of, as_number, as_positive, as_vector
from memetik.goals.base import SOFT, FieldChecks, Goal
from memetik.goals.compiler import GoalCompiler, TermFrames
from memetik.goals.joints import joint_entries
from memetik.goals.pose import DEFAULT_TOLERANCE, LinkGoal
from memetik.robot.kinematics import STANDARD_GRAVITY
from memetik.robot.robot import Robot

Weights = str | Mapping[str, float] | Sequence[float] | Array
"""How much joints count: "velocity": as 1 / velocity limit, with mean 1 over the robot's joints, so that slow joints
move less; "limits": as 1 / effort limit; "equal": 1 each; {joint: weight}, 1 for those not named; or one for each entry
of q."""


def _as_names(value: str | Sequence[str], _: str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _as_weight(value: float, name: str) -> float:
    number = as_number(value, f"the weight of {name}")
    if number < 0.0:
        raise GoalError(f"the weight of {name} must not be negative, not {value!r}.")
    return number


def _as_weights(value: Weights, _: str, named: Sequence[str]) -> str | dict[str, float] | Array:
    if isinstance(value, str):
        if value not in named:
            raise GoalError(f"there are no weights {value!r}; {suggest(value, named)}")
        return value
    if isinstance(value, Mapping):
        return {name: _as_weight(number, name) for name, number in value.items()}
    return np.array([_as_weight(number, f"entry {k}") for k, number in enumerate(value)])


@dataclass(frozen=True, eq=False, repr=False)
class ConfigurationGoal(Goal):
    """A goal on the values of joints.

    joints     those it speaks of, as in `robot.joint_names`; None: all that the other goals move.
    weights    u: "velocity", "equal", {joint: weight} or (dof,).
    tolerance  bound on the norm of the residual where the goal is made a hard one with priority=0.
    """

    priority: int = field(default=SOFT, kw_only=True)
    joints: str | Sequence[str] | None = field(default=None, kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride]
    weights: Weights = field(default="velocity", kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {
        "tolerance": as_positive, "joints": _as_names, "weights": partial(_as_weights, named=("velocity", "equal"))
    }  # fmt: skip

    def default_name(self) -> str:
        return self.stored_name.lower()

    def _add(self, compiler: GoalCompiler, entries: Sequence[int], rows: Array) -> int:
        """A term of rows (n, 4): scale, centre, lower, upper. Results that are stored know its error by this label."""
        return compiler.term(
            TermKind.joints, rows, measure=("posture", "rad"), tolerance=self.tolerance, entries=entries
        )

    def _bounded(self, robot: Robot) -> tuple[list[int], Array, Array, Array]:
        """The entries that have limits on both sides, their weights, middles and ranges."""
        finite = np.isfinite(robot.lower) & np.isfinite(robot.upper)
        entries = [k for k in joint_entries(robot, self.joints) if finite[k]]
        if not entries:
            raise GoalError(f"{type(self).__name__} needs joints with limits, and robot {robot.name!r} has none there.")
        lower, upper = robot.lower[entries], robot.upper[entries]
        return entries, self._weights(robot, entries), 0.5 * (lower + upper), upper - lower

    def _weights(self, robot: Robot, entries: Sequence[int]) -> Array:
        return weights_of(self, robot, self.weights, velocity_weights(robot))[entries]


@dataclass(frozen=True, eq=False, repr=False)
class AvoidLimits(ConfigurationGoal):
    """Joints stay in the middle half of their range. A soft goal unless priority=0.

    r_i = u_i max(0, 2 |q_i - middle_i| - range_i / 2) for joints with limits.
    """

    def compile(self, compiler: GoalCompiler) -> None:
        entries, weights, middle, spans = self._bounded(compiler.robot)
        half = 0.5 * weights * spans
        self._add(compiler, entries, np.stack([2.0 * weights, middle, -half, half], axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class CenterJoints(ConfigurationGoal):
    """Joints are near the middle of their range. A soft goal unless priority=0.

    r_i = u_i (q_i - middle_i) for joints with limits.
    """

    stored_name: ClassVar[str] = "Center"

    def compile(self, compiler: GoalCompiler) -> None:
        entries, weights, middle, spans = self._bounded(compiler.robot)
        self._add(compiler, entries, np.stack([weights, middle, 0.0 * spans, 0.0 * spans], axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class MinimalDisplacement(ConfigurationGoal):
    """Joints move little from the seed, or from a given configuration. A soft goal unless priority=0.

    r_i = u_i (q_i - reference_i).

    reference  a configuration (dof,) or {joint: value}; None: the seed of each solve.
    """

    stored_name: ClassVar[str] = "Displacement"

    reference: ArrayLike | Mapping[str, float] | None = None

    def compile(self, compiler: GoalCompiler) -> None:
        robot = compiler.robot
        entries = joint_entries(robot, self.joints)
        try:
            reference = np.zeros(robot.dof) if self.reference is None else robot.q(self.reference)
        except InvalidInputError as error:
            raise GoalError(
                f"the reference of MinimalDisplacement is no configuration of robot {robot.name!r}: {error}"
            ) from None
        if isinstance(self.reference, Mapping):
            entries = [k for k in entries if k in joint_entries(robot, tuple(self.reference))]
        none = np.zeros(len(entries))
        rows = np.stack([self._weights(robot, entries), reference[entries], none, none], axis=1)
        term = self._add(compiler, entries, rows)
        if self.reference is None:
            compiler.seed_copies.extend(
                SeedCopy(entry=entry, term=term, destination=4 * place + 1) for place, entry in enumerate(entries)
            )


@dataclass(frozen=True, eq=False, repr=False)
class Manipulability(LinkGoal):
    """The link can move well in all directions: its Jacobian J is far from singular. A soft goal unless priority=0.

    r = 1 / (1 + m / reference), m = sqrt(det(J J^T)), J of the link's origin (or `offset`) in the world: half at m =
    reference, one where J is singular.

    part       "all" six rows of J, "translation" or "rotation".
    reference  the manipulability that counts as usual; by default the median over random configurations.
    tolerance  bound on r where the goal is made a hard one with priority=0.
    """

    priority: int = field(default=SOFT, kw_only=True)
    part: Literal["all", "translation", "rotation"] = field(default="all", kw_only=True)
    reference: float | None = field(default=None, kw_only=True)
    tolerance: float = field(default=0.5, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"reference": as_positive, "tolerance": as_positive}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.part not in _PARTS:
            raise GoalError(f"there is no part {self.part!r} of a Jacobian; {suggest(self.part, _PARTS)}")
        if self.relative_to is not None:
            raise GoalError("Manipulability is measured in the world: relative_to has no meaning for it.")

    def compile(self, compiler: GoalCompiler) -> None:
        robot = compiler.robot
        frame = compiler.frame(self.link, self.offset)
        needed = 6 if self.part == "all" else 3
        moving = int(robot.moves(self.link).sum())
        if moving < needed:
            raise GoalError(
                f"link {self.link!r} is moved by {moving} joints, too few to move in all {needed} directions of "
                f"part={self.part!r}: its manipulability is zero everywhere."
            )
        reference = self._usual(robot) if self.reference is None else self.reference
        compiler.term(
            TermKind.manipulability, [_PARTS.index(self.part), reference], measure=("manipulability", ""),
            tolerance=self.tolerance, frames=TermFrames(frame),
        )  # fmt: skip

    def _usual(self, robot: Robot) -> float:
        configurations = robot.random(np.random.default_rng(0), 101)
        point = None if self.offset is None else array_of(self.offset)[:3, 3]
        median = float(np.median(robot.manipulability(self.link, configurations, part=self.part, point=point)))
        if median > 1e-9:
            return median
        raise GoalError(f"link {self.link!r} cannot move in all directions of part={self.part!r} in any configuration.")


@dataclass(frozen=True, eq=False, repr=False)
class GravityTorque(Goal):
    """Joints carry little weight. A soft goal unless priority=0.

    r_i = u_i tau_i, tau the torques (N m) and forces (N) that hold the robot still.

    gravity    m/s^2 in the world.
    weights    u: "limits": 1 / effort limit, so that r is a share of it (the largest limit for joints without one);
               "equal": 1 each; {joint: weight} or (dof,).
    tolerance  bound on the norm of r where the goal is made a hard one with priority=0.
    """

    stored_name: ClassVar[str] = "Effort"

    priority: int = field(default=SOFT, kw_only=True)
    gravity: ArrayLike = field(default=STANDARD_GRAVITY, kw_only=True)
    weights: Weights = field(default="limits", kw_only=True)
    tolerance: float = field(default=0.1, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {
        "gravity": as_vector, "tolerance": as_positive, "weights": partial(_as_weights, named=("limits", "equal"))
    }  # fmt: skip

    def compile(self, compiler: GoalCompiler) -> None:
        robot = compiler.robot
        if not robot.mass > 0.0:
            raise GoalError(f"GravityTorque needs masses, and robot {robot.name!r} has none in its description.")
        known = np.isfinite(robot.effort) & (robot.effort > 0.0)
        largest = robot.effort[known].max() if known.any() else 1.0
        weights = weights_of(self, robot, self.weights, 1.0 / np.where(known, robot.effort, largest))
        compiler.term(
            TermKind.effort, np.concatenate([self.gravity, weights]), measure=("effort", ""), rows=robot.dof,
            tolerance=self.tolerance,
        )  # fmt: skip


_PARTS = ("all", "translation", "rotation")


def velocity_weights(robot: Robot) -> np.ndarray:
    """1 / velocity limit (dof,), scaled to mean 1; the fastest known velocity for joints without a limit."""
    known = np.isfinite(robot.velocity) & (robot.velocity > 0.0)
    if not known.any():
        return np.ones(robot.dof)
    slowness = 1.0 / np.where(known, robot.velocity, robot.velocity[known].max())
    return slowness / slowness.mean()


def weights_of(goal: Goal, robot: Robot, weights: Weights, named: Array) -> Array:
    """Weights (dof,) of all joints: `named` for a name other than "equal", 1 where nothing else is said."""
    if isinstance(weights, Mapping):
        spread = np.ones(robot.dof)
        for name, value in weights.items():
            spread[joint_entries(robot, (name,))] = value
        return spread
    if isinstance(weights, str):
        return np.ones(robot.dof) if weights == "equal" else named
    if len(weights) != robot.dof:
        raise GoalError(f"the weights of {type(goal).__name__} are {robot.dof} numbers, not {len(weights)}.")
    return np.asarray(weights, dtype=float)
