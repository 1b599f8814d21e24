"""Where an axis of a link points: AlignAxis, Cone, Side, LookAt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memetik.goals.base import Kind, put
from memetik.goals.checks import LOOSE, as_angle, as_direction, as_positive, band_of
from memetik.goals.compiler import Compiler, Frames
from memetik.goals.pose import DEFAULT_TOLERANCE, ROTATION_SCALE, LinkGoal, add_position, as_vector


@dataclass(frozen=True, eq=False, repr=False)
class AngleGoal(LinkGoal):
    """A goal on how a link is turned.

    tolerance       radians.
    rotation_scale  metres per radian: how much a turn weighs against a way.
    """

    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_scale: float = field(default=ROTATION_SCALE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, tolerance=as_positive(self.tolerance, f"the tolerance of {type(self).__name__}"))
        put(self, rotation_scale=as_positive(self.rotation_scale, f"the rotation_scale of {type(self).__name__}"))


@dataclass(frozen=True, eq=False, repr=False)
class AlignAxis(AngleGoal):
    """An axis of the link points in a direction; spin about it is free.

    r = R a - d; |r| = 2 sin(angle / 2).

    axis  a in the link's frame: "x", "-z", ... or a vector.
    to    d in the world, or in the frame of `relative_to`: likewise. None: given at each solve.
    """

    axis: Any = "z"
    to: Any = None
    open_target: ClassVar[str | None] = "to"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, axis=as_direction(self.axis, "the axis of AlignAxis"))
        if self.to is not None:
            put(self, to=as_direction(self.to, "the direction `to` of AlignAxis"))

    def compile(self, compiler: Compiler) -> None:
        direction = np.array([0.0, 0.0, 1.0]) if self.to is None else self.to
        frames = self.frames(compiler)
        term = add_alignment(compiler, frames, self.axis, direction, self.tolerance, self.rotation_scale)
        if self.to is None:
            compiler.open("direction", (3,), [(k, term, 3 + k) for k in range(3)])


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

    axis: Any = "z"
    direction: Any = None
    angle: float = 0.0
    position: Any = None
    position_tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    open_target: ClassVar[str | None] = "direction"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, axis=as_direction(self.axis, "the axis of Cone"), angle=as_angle(self.angle, "the angle of Cone"))
        put(self, position_tolerance=as_positive(self.position_tolerance, "the position_tolerance of Cone"))
        if self.direction is not None:
            put(self, direction=as_direction(self.direction, "the direction of Cone"))
        if self.position is not None:
            put(self, position=as_vector(self.position, "the position of Cone"))

    def compile(self, compiler: Compiler) -> None:
        frames = self.frames(compiler)
        direction = np.array([0.0, 0.0, 1.0]) if self.direction is None else self.direction
        if self.angle < LOOSE:
            reach = self.angle + self.tolerance
            term = add_alignment(compiler, frames, self.axis, direction, reach, self.rotation_scale)
        else:
            _, upper, bound = band_of((-self.angle, self.angle), self.tolerance)
            term = add_cone(compiler, frames, self.axis, direction, (0.0, upper), bound, self.rotation_scale)
        if self.position is not None:
            pose = np.eye(4)
            pose[:3, 3] = self.position
            add_position(compiler, frames, pose, self.position_tolerance)
        if self.direction is None:
            compiler.open("direction", (3,), [(k, term, 3 + k) for k in range(3)])


@dataclass(frozen=True, eq=False, repr=False)
class Side(AngleGoal):
    """An axis of the link points away from a direction: it makes at least a right angle with it.

    r = max(0, (R a).d), the sine of the angle by which the axis is on the wrong side.

    axis       a in the link's frame: "x", "-z", ... or a vector.
    direction  d in the world, or in the frame of `relative_to`. None: given at each solve.
    """

    axis: Any = "z"
    direction: Any = None
    open_target: ClassVar[str | None] = "direction"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, axis=as_direction(self.axis, "the axis of Side"))
        if self.direction is not None:
            put(self, direction=as_direction(self.direction, "the direction of Side"))

    def compile(self, compiler: Compiler) -> None:
        direction = np.array([0.0, 0.0, 1.0]) if self.direction is None else self.direction
        term = compiler.term(
            Kind.SIDE, np.concatenate([self.axis, direction]), label="angle", unit="rad", rows=1,
            tolerance=self.tolerance, scale=self.rotation_scale, **self.frames(compiler),
        )  # fmt: skip
        if self.direction is None:
            compiler.open("direction", (3,), [(k, term, 3 + k) for k in range(3)])


@dataclass(frozen=True, eq=False, repr=False)
class LookAt(AngleGoal):
    """An axis of the link points from its origin (or `offset`) to a point.

    r = R a - (point - x) / |point - x|.

    axis   a in the link's frame: "x", "-z", ... or a vector.
    point  (3,) in the world, or in the frame of `relative_to`: a point of another link. None: given at each solve.
    """

    axis: Any = "z"
    point: Any = None
    open_target: ClassVar[str | None] = "point"

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, axis=as_direction(self.axis, "the axis of LookAt"))
        if self.point is not None:
            put(self, point=as_vector(self.point, "the point of LookAt"))

    def compile(self, compiler: Compiler) -> None:
        frames = self.frames(compiler)
        point = np.zeros(3) if self.point is None else self.point
        if self.tolerance > LOOSE:
            term = add_view(compiler, frames, self.axis, point, self.tolerance, self.rotation_scale)
        else:
            term = compiler.term(
                Kind.LOOK_AT, np.concatenate([self.axis, point]), label="angle", unit="rad", rows=3,
                tolerance=self.tolerance, scale=self.rotation_scale, **frames,
            )  # fmt: skip
        if self.point is None:
            compiler.open("point", (3,), [(k, term, 3 + k) for k in range(3)])


def add_alignment(
    compiler: Compiler, frames: Frames, axis: np.ndarray, direction: np.ndarray, tolerance: float, scale: float
) -> int:
    """An axis along a direction: exactly, or within a cone where the tolerance is worth using. Returns the term."""
    if tolerance > LOOSE:
        _, upper, bound = band_of((-tolerance, tolerance), DEFAULT_TOLERANCE)
        return add_cone(compiler, frames, axis, direction, (0.0, upper), bound, scale)
    data = np.concatenate([axis, direction])
    return compiler.term(
        Kind.ALIGN, data, label="angle", unit="rad", rows=3, tolerance=tolerance, scale=scale, **frames
    )


def add_cone(
    compiler: Compiler,
    frames: Frames,
    axis: np.ndarray,
    direction: np.ndarray,
    angles: tuple[float, float],
    tolerance: float,
    scale: float,
) -> int:
    """The angle between an axis and a direction within a range. Returns the term."""
    data = np.concatenate([axis, direction, angles])
    return compiler.term(Kind.CONE, data, label="angle", unit="rad", rows=1, tolerance=tolerance, scale=scale, **frames)


def add_view(
    compiler: Compiler, frames: Frames, axis: np.ndarray, point: np.ndarray, angle: float, scale: float
) -> int:
    """A point within an angle of an axis, seen from the link. Returns the term."""
    _, upper, bound = band_of((-angle, angle), DEFAULT_TOLERANCE)
    data = np.concatenate([axis, point, [min(upper, math.pi)]])
    return compiler.term(Kind.VIEW, data, label="view", unit="rad", rows=1, tolerance=bound, scale=scale, **frames)
