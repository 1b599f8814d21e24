"""Curves of poses: straight lines, arcs, splines, and lists of poses with straight lines between.

A `CartesianPath` gives the pose at each s from 0 to 1. Positions follow the curve; orientations rotate about one axis
between neighbouring poses (slerp), with s in proportion to the distance, where a radian counts as `TURN` metres.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from memetik.errors import InvalidInputError
from memetik.geometry.transforms import as_pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.spatial.transform import RotationSpline, Slerp  # pyright: ignore[reportMissingTypeStubs]

TURN = 0.3
"""Metres that a rotation by one radian counts as."""

_SAME = 1e-7  # metres; the angle between equal rotations comes out as some 1e-8


class CartesianPath:
    """Poses along a curve: `path(s)` is (4, 4), or (N, 4, 4) for s of shape (N,)."""

    def __init__(
        self,
        knots: np.ndarray,
        positions: Callable[[np.ndarray], np.ndarray],
        rotations: Slerp | RotationSpline,
        length: float,
    ):
        self.knots, self.length = knots, length
        self._positions, self._rotations = positions, rotations

    def __call__(self, s: ArrayLike) -> np.ndarray:
        s = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        rows = np.atleast_1d(s)
        poses = np.tile(np.eye(4), (len(rows), 1, 1))
        poses[:, :3, 3] = self._positions(rows)
        poses[:, :3, :3] = self._rotations(rows).as_matrix()  # pyright: ignore[reportUnknownMemberType]
        return poses if s.ndim else poses[0]

    def samples(self, step: float = 0.01) -> np.ndarray:
        """(N,) values of s, all knots among them, between which the distance is at most `step`: metres, a radian as
        TURN."""
        if not 0.0 < step < np.inf:
            raise InvalidInputError(f"step is in metres and must be positive, not {step!r}.")
        parts = np.maximum(1, np.ceil(np.diff(self.knots) * self.length / step - 1e-9).astype(int))
        rows: list[np.ndarray] = [
            np.linspace(a, b, n, endpoint=False) for a, b, n in zip(self.knots, self.knots[1:], parts, strict=False)
        ]
        return np.concatenate([*rows, [1.0]])


def line(start: ArrayLike, end: ArrayLike) -> CartesianPath:
    """The straight line from one pose to another."""
    return waypoints([start, end])


def waypoints(poses: ArrayLike | Sequence[ArrayLike]) -> CartesianPath:
    """Straight lines from pose to pose (N, 4, 4)."""
    poses = _poses(poses)
    knots, length = _knots(poses)

    def positions(s: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(s, knots, poses[:, k, 3]) for k in range(3)], axis=1)

    return CartesianPath(knots, positions, _rotations(knots, poses), length)


def arc(start: ArrayLike, via: ArrayLike, end: ArrayLike) -> CartesianPath:
    """The circular arc through three poses; of `via` only the position (3,) or (4, 4) counts."""
    first, last = _poses([start, end])
    middle = np.asarray(via, dtype=float)
    middle = middle[:3, 3] if middle.shape == (4, 4) else middle
    if middle.shape != (3,) or not np.isfinite(middle).all():
        raise InvalidInputError(f"via is a pose or a point (3,), not {via!r:.60}.")
    a, c = first[:3, 3], last[:3, 3]
    u, v = middle - a, c - a
    normal = np.cross(u, v)
    size = float(np.linalg.norm(normal))
    if size < 1e-9 * max(float(u @ u), float(v @ v), 1e-9):
        raise InvalidInputError("the three points of an arc must not lie on a line.")
    centre = a + np.cross((u @ u) * v - (v @ v) * u, normal) / (2.0 * size**2)
    x = a - centre
    radius = float(np.linalg.norm(x))
    z = normal / size
    y = np.cross(z, x)
    angle = float(np.arctan2((c - centre) @ y / radius, (c - centre) @ x / radius)) % (2.0 * np.pi)

    def positions(s: np.ndarray) -> np.ndarray:
        turned = angle * s[:, None]
        return centre + np.cos(turned) * x + np.sin(turned) * y

    knots = np.array([0.0, 1.0])
    turn = _angles(np.stack([first, last]))[0]
    return CartesianPath(knots, positions, _rotations(knots, np.stack([first, last])), max(radius * angle, TURN * turn))


def spline(poses: ArrayLike) -> CartesianPath:
    """A smooth curve through poses (N, 4, 4): cubic in position, with continuous angular acceleration."""
    from scipy.interpolate import CubicSpline  # pyright: ignore[reportMissingTypeStubs]
    from scipy.spatial.transform import Rotation, RotationSpline  # pyright: ignore[reportMissingTypeStubs]

    rows = _poses(poses)
    knots, length = _knots(rows)
    if len(rows) == 2:
        return waypoints(rows)
    curve = CubicSpline(knots, rows[:, :3, 3])
    return CartesianPath(knots, curve, RotationSpline(knots, Rotation.from_matrix(rows[:, :3, :3])), length)


def _poses(poses: ArrayLike | Sequence[ArrayLike]) -> np.ndarray:
    rows = [as_pose(pose, f"pose {index}") for index, pose in enumerate(cast("Sequence[ArrayLike]", poses))]
    if len(rows) < 2 or any(row.shape != (4, 4) for row in rows):
        raise InvalidInputError("a path needs at least two poses of shape (4, 4).")
    return np.array(rows)


def _angles(poses: np.ndarray) -> np.ndarray:
    """(N - 1,) radians between neighbours."""
    relative = np.swapaxes(poses[:-1, :3, :3], 1, 2) @ poses[1:, :3, :3]
    return np.arccos(np.clip((np.trace(relative, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0))


def _knots(poses: np.ndarray) -> tuple[np.ndarray, float]:
    distances = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1) + TURN * _angles(poses)
    if (distances < _SAME).any():
        raise InvalidInputError(
            f"poses {int(np.argmin(distances))} and {int(np.argmin(distances)) + 1} of the path are the same."
        )
    total = float(distances.sum())
    knots = np.concatenate([[0.0], np.cumsum(distances) / total])
    knots[-1] = 1.0
    return knots, total


def _rotations(knots: np.ndarray, poses: np.ndarray) -> Slerp:
    from scipy.spatial.transform import Rotation, Slerp  # pyright: ignore[reportMissingTypeStubs]

    return Slerp(knots, Rotation.from_matrix(poses[:, :3, :3]))


def as_path(given: CartesianPath | ArrayLike) -> CartesianPath:
    """A path as it is, or straight lines through poses."""
    return given if isinstance(given, CartesianPath) else waypoints(given)
