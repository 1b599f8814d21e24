"""Position and orientation of a link: Pose, RelativePose, Position, Orientation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.geometry.transforms import RotationLike, as_pose, pose, transform
from memetik.goals.arguments import array_of, as_offset, as_vector, is_array
from memetik.goals.base import FieldChecks, Goal, set_fields
from memetik.goals.compiler import GoalCompiler, TermFrames

DEFAULT_TOLERANCE = 1e-5
"""Metres and radians: the tolerance of a hard goal where the user gives none."""

ROTATION_SCALE = 0.3
"""Metres per radian: weight of rotation relative to translation."""

_ROTATION_COPIES = tuple((4 * r + c, 3 * r + c) for r in range(3) for c in range(3))
"""Entries of a pose (4, 4) and of its rotation (3, 3)."""

Tolerance = float | Sequence[float | tuple[float, float]]
"""One number: a bound on the error's norm. Three: a bound for each axis of the target's frame, as a number (to either
side), a pair (lower, upper), or infinity where the axis is free."""


@dataclass(frozen=True, eq=False, repr=False)
class LinkGoal(Goal):
    """A goal on a link of the robot.

    link         the link that it speaks of.
    offset       a point (3,) or pose (4, 4) in the link's frame; by default the link's own frame.
    relative_to  a link in whose frame targets are stated, instead of the world's.
    """

    link: str
    offset: ArrayLike | None = field(default=None, kw_only=True)
    relative_to: str | None = field(default=None, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"offset": as_offset}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.link, str) or not self.link:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"{type(self).__name__} needs the name of a link, not {self.link!r}.")

    @property
    def links(self) -> Sequence[str]:
        return (self.link,) if self.relative_to is None else (self.link, self.relative_to)

    def frames(self, compiler: GoalCompiler) -> TermFrames:
        """The frame and the reference of this goal's terms, as arguments of `GoalCompiler.term`."""
        return TermFrames(compiler.frame(self.link, self.offset), compiler.reference(self.relative_to))


@dataclass(frozen=True, eq=False, repr=False)
class Pose(LinkGoal):
    """The link's frame (or a pose `offset` of it) coincides with the target.

    r = [ R_t^T (x - x_t) ;  rotation_scale * 2 v ],  (w, v) the quaternion of R R_t^T, w >= 0, so that
    |2 v| = 2 sin(angle / 2).

    target              (4, 4) in the world, or in the frame of `relative_to`; None: given at each solve.
    position_tolerance  metres, as one number or for each axis of the target's frame.
    rotation_tolerance  radians, likewise. Axes that are free or have a range are treated by swing and twist:
                        with one of them, the spin about that axis is free or ranged, whatever the other two do.
    rotation_scale      metres per radian: weight of rotation relative to translation.
    """

    target: ArrayLike | None = None
    position_tolerance: Tolerance = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_tolerance: Tolerance = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_scale: float = field(default=ROTATION_SCALE, kw_only=True)
    open_target: ClassVar[str | None] = "target"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None:
            target = as_pose(self.target, f"the target of {type(self).__name__}")
            if target.shape != (4, 4):
                raise GoalError(
                    f"the target of {type(self).__name__} is one pose (4, 4), not {target.shape}; leave it open and "
                    "give the batch to solve()."
                )
            set_fields(self, target=target)
        if not (math.isfinite(self.rotation_scale) and self.rotation_scale > 0.0):
            raise GoalError(
                f"rotation_scale must be positive and finite, not {self.rotation_scale!r}; for a goal without an "
                "orientation use Position."
            )
        bands_of(self.position_tolerance, "position_tolerance")
        bands_of(self.rotation_tolerance, "rotation_tolerance")

    def compile(self, compiler: GoalCompiler) -> None:
        frames = self.frames(compiler)
        target = array_of(self.target, np.eye(4))
        copies = add_position(compiler, frames, target, self.position_tolerance)
        copies += add_rotation(compiler, frames, target[:3, :3], self.rotation_tolerance, self.rotation_scale)
        if self.target is None:
            compiler.open("pose", (4, 4), copies)


@dataclass(frozen=True, eq=False, repr=False)
class RelativePose(Pose):
    """The link's frame coincides with the target stated in the frame of another link: a Pose with `relative_to` named
    second, as in RelativePose("left_hand", "right_hand", T)."""

    def __init__(self, link: str, relative_to: str, target: ArrayLike | None = None, **options: Any) -> None:
        super().__init__(link, target, relative_to=relative_to, **options)


@dataclass(frozen=True, eq=False, repr=False)
class Position(LinkGoal):
    """A point of the link is at the target, or within a box about it.

    r = A^T (x - x_t), outside the box where `tolerance` gives one.

    target     (3,) in the world, or in the frame of `relative_to`; None: given at each solve.
    tolerance  metres: one number, or for each axis a number, a pair (lower, upper) or infinity: a box.
    axes       (3, 3) rotation A whose columns are the axes of the box; by default the world's (or the reference's).
    """

    target: ArrayLike | None = None
    tolerance: Tolerance = field(default=DEFAULT_TOLERANCE, kw_only=True)
    axes: ArrayLike | None = field(default=None, kw_only=True)
    open_target: ClassVar[str | None] = "target"
    field_checks: ClassVar[FieldChecks] = {"target": as_vector}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axes is not None:
            set_fields(self, axes=transform((0.0, 0.0, 0.0), matrix=self.axes)[:3, :3])
        bands_of(self.tolerance, "tolerance")

    def compile(self, compiler: GoalCompiler) -> None:
        target = pose(array_of(self.axes, np.eye(3)), array_of(self.target))
        copies = add_position(compiler, self.frames(compiler), target, self.tolerance)
        if self.target is None:
            compiler.open("point", (3,), [(k, term, to) for k, (_, term, to) in enumerate(copies[-3:])])


@dataclass(frozen=True, eq=False, repr=False)
class Orientation(LinkGoal):
    """The link has the orientation of the target.

    r = rotation_scale * 2 v,  (w, v) the quaternion of R R_t^T, w >= 0.

    target     a rotation (3, 3), pose (4, 4), quaternion (x, y, z, w) or scipy Rotation; None: given at each solve.
    tolerance  radians: one number, or for each axis of the target's frame a number, a pair or infinity (see Pose).
    """

    target: ArrayLike | RotationLike | None = None
    tolerance: Tolerance = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_scale: float = field(default=ROTATION_SCALE, kw_only=True)
    open_target: ClassVar[str | None] = "target"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None:
            set_fields(self, target=as_rotation(self.target))
        bands_of(self.tolerance, "tolerance")

    def compile(self, compiler: GoalCompiler) -> None:
        target = self.target if is_array(self.target) else np.eye(3)
        copies = add_rotation(compiler, self.frames(compiler), target, self.tolerance, self.rotation_scale)
        if self.target is None:
            # Copies speak of a pose's entries; those of its rotation are 4 r + c there and 3 r + c here.
            copies = [(3 * (source // 4) + source % 4, term, to) for source, term, to in copies]
            compiler.open("rotation", (3, 3), copies)


def add_position(
    compiler: GoalCompiler, frames: TermFrames, target: np.ndarray, tolerance: Tolerance
) -> list[tuple[int, int, int]]:
    """The position part of a pose goal. Returns what an open pose (16 numbers) has to fill in."""
    bands, bound = bands_of(tolerance, "tolerance")
    # Without bands the axes do not matter: those of the world spare the products.
    has_axes = isinstance(tolerance, Sequence)
    rotation = target[:3, :3] if has_axes else np.eye(3)
    data = np.concatenate([rotation.ravel(), target[:3, 3], bands[:, 0], bands[:, 1]])
    term = compiler.term(TermKind.point, data, measure=("position", "m"), tolerance=bound, frames=frames)
    copies = [(source, term, to) for source, to in _ROTATION_COPIES if has_axes]
    return copies + [(4 * r + 3, term, 9 + r) for r in range(3)]


def add_rotation(
    compiler: GoalCompiler, frames: TermFrames, target: np.ndarray, tolerance: Tolerance, scale: float
) -> list[tuple[int, int, int]]:
    """The orientation part of a pose goal, by how many of its axes are free. Copies as in `add_position`."""

    def add(kind: TermKind, *data: ArrayLike, bound: float) -> list[tuple[int, int, int]]:
        numbers = np.concatenate([target.ravel(), *(np.ravel(part) for part in data)])
        term = compiler.term(kind, numbers, measure=("rotation", "rad"), tolerance=bound, scale=scale, frames=frames)
        return [(source, term, to) for source, to in _ROTATION_COPIES]

    if not isinstance(tolerance, Sequence):
        return add(TermKind.rotation, bound=float(tolerance))
    bands, bound = bands_of(tolerance, "tolerance")
    free = [k for k in range(3) if bands[k, 1] - bands[k, 0] >= 2.0 * math.pi]
    if len(free) == 0:
        return add(TermKind.rotation_range, bands[:, 0], bands[:, 1], bound=bound)
    if len(free) == 1:
        return add(TermKind.swing_range, np.eye(3)[free[0]], bands[:, 0], bands[:, 1], bound=bound)
    if len(free) == 2:
        (k,) = {0, 1, 2} - set(free)
        return add(TermKind.twist, np.eye(3)[k], bands[k], bound=bound)
    return []


def bands_of(tolerance: Tolerance, name: str) -> tuple[np.ndarray, float]:
    """Ranges (3, 2) inside which the residual is zero, and the bound on its norm outside them.

    The ranges are the user's, narrowed by the bound, so that what the bound still allows is within what was asked.
    """
    if not isinstance(tolerance, Sequence):
        if not (isinstance(tolerance, int | float | np.floating) and 0.0 < tolerance < math.inf):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(
                f"{name} must be a positive number, or three numbers, pairs (lower, upper) or infinities; "
                f"not {tolerance!r}."
            )
        return np.zeros((3, 2)), float(tolerance)
    if len(tolerance) != 3:
        raise GoalError(f"{name} has one entry for each of the axes x, y, z, not {len(tolerance)}.")
    bands = np.array(
        [(-t, t) if isinstance(t, int | float | np.floating) else tuple(t) for t in tolerance], dtype=float
    )
    if bands.shape != (3, 2) or np.isnan(bands).any() or (bands[:, 0] > bands[:, 1]).any():
        raise GoalError(
            f"{name} must give each axis a positive number, a pair (lower, upper) or infinity; not {tolerance!r}."
        )
    widths = bands[:, 1] - bands[:, 0]
    if (widths <= 0.0).any():
        raise GoalError(f"{name} leaves no room on axis {'xyz'[int(widths.argmin())]}: lower and upper must differ.")
    bound = float(min(DEFAULT_TOLERANCE, 0.25 * widths.min()))
    return bands + bound * np.array([1.0, -1.0]), bound


def as_rotation(value: ArrayLike | RotationLike) -> np.ndarray:
    """A rotation (3, 3) from a matrix, pose, quaternion (x, y, z, w) or scipy Rotation."""
    array = np.asarray(value.as_matrix() if isinstance(value, RotationLike) else value, dtype=float)
    if array.shape == (4,):
        return transform((0.0, 0.0, 0.0), quat_xyzw=array)[:3, :3]
    if array.shape == (4, 4):
        return as_pose(array, "the target")[:3, :3]
    return transform((0.0, 0.0, 0.0), matrix=array)[:3, :3]
