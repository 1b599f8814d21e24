"""Some of the angles of a link's orientation: PartialOrientation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.goals.arguments import Array, Range, as_range, band_of
from memetik.goals.base import set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.direction import AngleGoal, add_alignment, add_cone

Angle = float | tuple[float, float] | str | None
"""Radians; a range (lower, upper); "free" or None; or "open": given at each solve."""

Number = float | Array
"""One angle, or an array of them."""

_NAMES = ("roll", "pitch", "yaw")
_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True, eq=False, repr=False)
class PartialOrientation(AngleGoal):
    """The link has some angles of roll, pitch and yaw and is free in the others.

    Convention: R = Rz(yaw) Ry(pitch) Rx(roll) takes the link's axes to the world's (or those of `relative_to`):
    roll, pitch, yaw about the fixed axes x, y, z in this order, as in URDF.

    roll, pitch, yaw  radians; a range (lower, upper); None or "free"; or "open". The open ones are given at each
                      solve: one number, or an array of them in the order roll, pitch, yaw.

    With one angle free the others say where an axis of the link points, and that is what is asked for:
        yaw free:    the direction that is the world's z stays: R a = z,  a = Rx(roll)^T Ry(pitch)^T z
        roll free:   the link's x points to Rz(yaw) Ry(pitch) x
        pitch free:  R a = Rz(yaw) y,  a = Rx(roll)^T y; the pitch may go all the way around, past +-90 degrees
    Only a pitch: r = angle(R x, z) - (90 degrees + pitch). These hold at pitch +-90 degrees, too, where roll and yaw
    are the same rotation. Otherwise r has the angles by which roll, pitch and yaw leave their ranges; where the pitch
    is +-90 degrees, roll is taken to be in the middle of its range and yaw is what remains. Ranges of the pitch lie
    within +-90 degrees. The error is the angle of the axis, or the norm of these angles, in radians.
    """

    roll: Angle = None
    pitch: Angle = None
    yaw: Angle = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _NAMES:
            value = getattr(self, name)
            if isinstance(value, str) and value not in ("free", "open"):
                raise GoalError(f"{name} must be an angle, a range, 'free' or 'open', not {value!r}.")
            if value is None or value == "free":
                set_fields(self, **{name: None})
            elif value != "open":
                set_fields(self, **{name: as_range(value, name)})
        angles = self._angles()
        if all(angle is None for angle in angles):
            raise GoalError("PartialOrientation leaves roll, pitch and yaw free: state at least one of them.")
        if isinstance(self.pitch, tuple):
            lower, upper = self.pitch
            if lower < -math.pi / 2 - 1e-9 or upper > math.pi / 2 + 1e-9:
                raise GoalError(f"a range of the pitch must lie within -pi/2 and pi/2, not {self.pitch!r}.")
        if "open" in angles and any(isinstance(angle, tuple) for angle in angles):
            raise GoalError("PartialOrientation can have open angles or ranges, not both.")

    @property
    def is_open(self) -> bool:
        return "open" in (self.roll, self.pitch, self.yaw)

    def compile(self, compiler: GoalCompiler) -> None:
        angles = _folded(self._angles())
        free = [name for name, angle in zip(_NAMES, angles, strict=True) if angle is None]
        if any(isinstance(angle, tuple) for angle in angles) or (len(free) == 2 and "pitch" in free):
            self._add_angles(compiler, angles)
        elif not free:
            self._add_rotation(compiler, angles)
        elif len(free) == 1:
            self._add_axis(compiler, angles, free[0])
        else:
            self._add_pitch(compiler, angles[1])

    def _angles(self) -> tuple[Angle, Angle, Angle]:
        return self.roll, self.pitch, self.yaw

    def _add_rotation(self, compiler: GoalCompiler, angles: Sequence[Angle]) -> None:
        term = compiler.term(
            TermKind.rotation, rotation_from_angles(*_numbers(angles)), measure=("rotation", "rad"),
            tolerance=self.tolerance, scale=self.rotation_scale, frames=self.frames(compiler),
        )  # fmt: skip
        copies = [(k, term, k) for k in range(9)]
        self._open(compiler, angles, copies, lambda *a: rotation_from_angles(*a).reshape(*a[0].shape, 9))

    def _add_axis(self, compiler: GoalCompiler, angles: Sequence[Angle], free: str) -> None:
        axis, direction = _aligned(free, *_numbers(angles))
        frames = self.frames(compiler)
        term = add_alignment(compiler, frames, axis, direction, self.tolerance, self.rotation_scale)
        copies = [(k, term, k) for k in range(6)]
        self._open(compiler, angles, copies, lambda *a: np.concatenate(_aligned(free, *a), axis=-1))

    def _add_pitch(self, compiler: GoalCompiler, pitch: Angle) -> None:
        frames = self.frames(compiler)
        if not isinstance(pitch, str) and math.cos(_number(pitch)) < self.tolerance:
            down = -_Z if _number(pitch) > 0.0 else _Z
            add_alignment(compiler, frames, _X, down, self.tolerance, self.rotation_scale)
            return
        angle = math.pi / 2 + _number(pitch)
        term = add_cone(compiler, frames, _X, _Z, (angle, angle), self.tolerance, self.rotation_scale)
        copies = [(0, term, 6), (1, term, 7)]
        self._open(compiler, (None, pitch, None), copies, lambda *a: np.stack([_cone_angle(a[1])] * 2, axis=-1))

    def _add_angles(self, compiler: GoalCompiler, angles: Sequence[Angle]) -> None:
        centres, lower, upper, bounds = np.zeros(3), np.full(3, -math.inf), np.full(3, math.inf), [self.tolerance]
        for k, angle in enumerate(angles):
            if isinstance(angle, tuple):
                centres[k] = 0.5 * (angle[0] + angle[1])
                half = 0.5 * (angle[1] - angle[0])
                lower[k], upper[k], bound = band_of((-half, half), self.tolerance)
                bounds.append(bound)
            elif angle is not None:
                centres[k], lower[k], upper[k] = _number(angle), 0.0, 0.0
        term = compiler.term(
            TermKind.roll_pitch_yaw, np.concatenate([centres, lower, upper]), measure=("angles", "rad"),
            tolerance=min(bounds), scale=self.rotation_scale, frames=self.frames(compiler),
        )  # fmt: skip
        if "open" in angles:
            compiler.open("number", (), [(0, term, list(angles).index("open"))])

    def _open(
        self,
        compiler: GoalCompiler,
        angles: Sequence[Angle],
        copies: list[tuple[int, int, int]],
        numbers: Callable[..., Array],
    ) -> None:
        """Declares the open angles, from which `numbers` (of roll, pitch, yaw) makes the data."""
        places = [k for k, angle in enumerate(angles) if angle == "open"]
        if not places:
            return

        def convert(given: np.ndarray) -> np.ndarray:
            given = given if len(places) > 1 else given[..., None]
            rest = _numbers(angles)
            all_three = np.broadcast_to(rest, (*given.shape[:-1], 3)).copy()
            all_three[..., places] = given
            return np.ascontiguousarray(numbers(*np.moveaxis(all_three, -1, 0)))

        shape = (len(places),) if len(places) > 1 else ()
        compiler.open("numbers", (len(copies),), copies, given=shape, convert=convert)


def rotation_from_angles(roll: Number, pitch: Number, yaw: Number) -> Array:
    """Rz(yaw) Ry(pitch) Rx(roll) as (..., 3, 3)."""
    angles = np.array([roll, pitch, yaw])
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles), np.cos(angles)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _aligned(free: str, roll: Number, pitch: Number, yaw: Number) -> tuple[Array, Array]:
    """The axis of the link and the direction it has to have when one of the angles is free."""
    shape = (*np.shape(roll), 3)
    if free == "yaw":
        return rotation_from_angles(roll, pitch, 0.0 * yaw)[..., 2, :], np.broadcast_to(_Z, shape)
    if free == "roll":
        return np.broadcast_to(_X, shape), rotation_from_angles(0.0 * roll, pitch, yaw)[..., :, 0]
    zero = 0.0 * pitch
    return rotation_from_angles(roll, zero, zero)[..., 1, :], rotation_from_angles(zero, zero, yaw)[..., :, 1]


def _folded(angles: Sequence[Angle]) -> tuple[Angle, Angle, Angle]:
    """The same orientation with its pitch within +-90 degrees, and ranges that leave nothing out as free."""
    roll, pitch, yaw = (_unless_everything(angle, k) for k, angle in enumerate(angles))
    if not isinstance(pitch, float):
        return roll, pitch, yaw
    pitch = math.remainder(pitch, 2.0 * math.pi)
    if abs(pitch) <= math.pi / 2 or "open" in (roll, yaw):
        return roll, pitch, yaw
    return _half_turn(roll), math.copysign(math.pi, pitch) - pitch, _half_turn(yaw)


def _unless_everything(angle: Angle, k: int) -> Angle:
    if isinstance(angle, tuple) and angle[1] - angle[0] >= (math.pi - 1e-9 if k == 1 else 2.0 * math.pi - 1e-9):
        return None
    return angle


def _half_turn(angle: Angle) -> Angle:
    if isinstance(angle, tuple):
        return angle[0] + math.pi, angle[1] + math.pi
    return angle + math.pi if isinstance(angle, float) else angle


def _cone_angle(pitch: np.ndarray) -> np.ndarray:
    """The angle between the link's x and the world's z; pitches past +-90 degrees come back on the other side."""
    return np.arccos(np.clip(-np.sin(pitch), -1.0, 1.0))


def _numbers(angles: Sequence[Angle]) -> tuple[float, float, float]:
    roll, pitch, yaw = (_number(angle) for angle in angles)
    return roll, pitch, yaw


def _number(angle: Angle | Range) -> float:
    """The number of an angle that has one, else zero."""
    return float(angle) if isinstance(angle, int | float) else 0.0
