"""Where an axis of a link points: AlignAxis, Cone, AvoidDirection, LookAt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.geometry.transforms import pose
from memetik.goals.arguments import LOOSE, UP, array_of, as_angle, as_direction, as_positive, as_vector, band_of
from memetik.goals.base import FieldChecks
from memetik.goals.compiler import GoalCompiler, TermFrames
from memetik.goals.pose import DEFAULT_TOLERANCE, ROTATION_SCALE, LinkGoal, add_position


@dataclass(frozen=True, eq=False, repr=False)
class AngleGoal(LinkGoal):
    """A goal on the orientation of a link.

    tolerance       radians.
    rotation_scale  metres per radian: weight of rotation relative to translation.
    """

    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_scale: float = field(default=ROTATION_SCALE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"tolerance": as_positive, "rotation_scale": as_positive}


@dataclass(frozen=True, eq=False, repr=False)
class AlignAxis(AngleGoal):
    """An axis of the link points in a direction; spin about it is free.

    r = R a - d; |r| = 2 sin(angle / 2).

    axis  a in the link's frame: "x", "-z", ... or a vector.
    to    d in the world, or in the frame of `relative_to`: likewise. None: given at each solve.
    """

    axis: str | ArrayLike = "z"
    to: str | ArrayLike | None = None
    open_target: ClassVar[str | None] = "to"
    field_checks: ClassVar[FieldChecks] = {"axis": as_direction, "to": as_direction}

    def compile(self, compiler: GoalCompiler) -> None:
        frames, direction = self.frames(compiler), array_of(self.to, UP)
        add_alignment(compiler, frames, array_of(self.axis), direction, self.tolerance, self.rotation_scale)


@dataclass(frozen=True, eq=False, repr=False)
class Cone(AngleGoal):
    """An axis of the link lies within a cone; a point of the link may have to be at a position as well.

    r = max(0, angle(R a, d) - angle);  with a position, also x - position.

    axis                a in the link's frame: "x", "-z", ... or a vector.
    direction           d, the cone's axis, in the world or in the frame of `relative_to`. None: given at each solve.
    angle               radians between the cone's axis and its side.
    position            (3,), or None.
    position_tolerance  metres.
    """

    axis: str | ArrayLike = "z"
    direction: str | ArrayLike | None = None
    angle: float = 0.0
    position: ArrayLike | None = None
    position_tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    open_target: ClassVar[str | None] = "direction"
    field_checks: ClassVar[FieldChecks] = {
        "axis": as_direction, "angle": as_angle, "position_tolerance": as_positive, "direction": as_direction,
        "position": as_vector,
    }  # fmt: skip

    def compile(self, compiler: GoalCompiler) -> None:
        frames, axis, direction = self.frames(compiler), array_of(self.axis), array_of(self.direction, UP)
        if self.angle < LOOSE:
            reach = self.angle + self.tolerance
            add_alignment(compiler, frames, axis, direction, reach, self.rotation_scale)
        else:
            _, upper, bound = band_of((-self.angle, self.angle), self.tolerance)
            add_cone(compiler, frames, axis, direction, (0.0, upper), bound, self.rotation_scale)
        if self.position is not None:
            add_position(compiler, frames, pose(position=array_of(self.position)), self.position_tolerance)


@dataclass(frozen=True, eq=False, repr=False)
class AvoidDirection(AngleGoal):
    """An axis of the link points away from a direction: it makes at least a right angle with it.

    r = max(0, (R a).d), the sine of the angle by which the axis is on the wrong side.

    axis       a in the link's frame: "x", "-z", ... or a vector.
    direction  d in the world, or in the frame of `relative_to`. None: given at each solve.
    """

    stored_name: ClassVar[str] = "Side"

    axis: str | ArrayLike = "z"
    direction: str | ArrayLike | None = None
    open_target: ClassVar[str | None] = "direction"
    field_checks: ClassVar[FieldChecks] = {"axis": as_direction, "direction": as_direction}

    def compile(self, compiler: GoalCompiler) -> None:
        data = np.concatenate([self.axis, array_of(self.direction, UP)])
        compiler.term(
            TermKind.side, data, measure=("angle", "rad"), tolerance=self.tolerance, scale=self.rotation_scale,
            frames=self.frames(compiler),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class LookAt(AngleGoal):
    """An axis of the link points from its origin (or `offset`) to a point.

    r = R a - (point - x) / |point - x|.

    axis   a in the link's frame: "x", "-z", ... or a vector.
    point  (3,) in the world, or in the frame of `relative_to`: a point of another link. None: given at each solve.
    """

    axis: str | ArrayLike = "z"
    point: ArrayLike | None = None
    open_target: ClassVar[str | None] = "point"
    field_checks: ClassVar[FieldChecks] = {"axis": as_direction, "point": as_vector}

    def compile(self, compiler: GoalCompiler) -> None:
        frames, axis, point = self.frames(compiler), array_of(self.axis), array_of(self.point)
        if self.tolerance > LOOSE:
            add_view(compiler, frames, axis, point, self.tolerance, self.rotation_scale)
        else:
            compiler.term(
                TermKind.look_at, np.concatenate([axis, point]), measure=("angle", "rad"),
                tolerance=self.tolerance, scale=self.rotation_scale, frames=frames,
            )  # fmt: skip


def add_alignment(
    compiler: GoalCompiler, frames: TermFrames, axis: np.ndarray, direction: np.ndarray, tolerance: float, scale: float
) -> int:
    """An axis along a direction: exactly, or within a cone where the tolerance is worth using. Returns the term."""
    if tolerance > LOOSE:
        _, upper, bound = band_of((-tolerance, tolerance), DEFAULT_TOLERANCE)
        return add_cone(compiler, frames, axis, direction, (0.0, upper), bound, scale)
    data, measure = np.concatenate([axis, direction]), ("angle", "rad")
    return compiler.term(TermKind.align, data, measure=measure, tolerance=tolerance, scale=scale, frames=frames)


def add_cone(
    compiler: GoalCompiler, frames: TermFrames, axis: np.ndarray, direction: np.ndarray, angles: tuple[float, float],
    tolerance: float, scale: float,
) -> int:  # fmt: skip
    """The angle between an axis and a direction within a range. Returns the term."""
    data = np.concatenate([axis, direction, angles])
    return compiler.term(TermKind.cone, data, measure=("angle", "rad"), tolerance=tolerance, scale=scale, frames=frames)


def add_view(
    compiler: GoalCompiler, frames: TermFrames, axis: np.ndarray, point: np.ndarray, angle: float, scale: float
) -> int:
    """A point within an angle of an axis, seen from the link. Returns the term."""
    _, upper, bound = band_of((-angle, angle), DEFAULT_TOLERANCE)
    data = np.concatenate([axis, point, [min(upper, math.pi)]])
    return compiler.term(TermKind.view, data, measure=("view", "rad"), tolerance=bound, scale=scale, frames=frames)
