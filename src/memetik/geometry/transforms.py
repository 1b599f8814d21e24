"""Poses as 4x4 arrays, rotations as 3x3: made from what users and files have, checked, mended, inverted.

A pose takes the child's coordinates to the parent's: p_parent = T p_child. Quaternions are (x, y, z, w) unless the
name says otherwise; metres and radians. Functions on arrays of shape (..., 4, 4) and (..., 3, 3) say so; the others
take one pose, as descriptions of robots write it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.files.schema import Table


@runtime_checkable
class RotationLike(Protocol):
    """A rotation, or a pose, of another library: scipy's Rotation, for instance."""

    def as_matrix(self) -> np.ndarray: ...


@runtime_checkable
class HomogeneousLike(Protocol):
    """A pose of another library that has its matrix: Pinocchio's SE3, for instance."""

    @property
    def homogeneous(self) -> np.ndarray: ...


PoseLike: TypeAlias = ArrayLike | RotationLike | HomogeneousLike | tuple[ArrayLike, ArrayLike | RotationLike]
"""What `as_pose` takes."""


ROTATION_TOLERANCE = 1e-2
"""Largest entry of |R^T R - I| that is taken for rounding and mended; beyond it a rotation is an error.

A rotation written with three decimals is off by less than 2e-3, a scaling of half a percent by 1e-2.
"""

_EXACT = 1e-14  # deviations up to here are the rounding of double precision: left as they are, bit for bit


def transform(
    position: ArrayLike = (0.0, 0.0, 0.0),
    *,
    rpy: ArrayLike | None = None,
    quat_xyzw: ArrayLike | None = None,
    quat_wxyz: ArrayLike | None = None,
    matrix: ArrayLike | None = None,
    axis_angle: ArrayLike | tuple[ArrayLike, float] | None = None,
    rotation: RotationLike | None = None,
) -> np.ndarray:
    """The pose at `position` with the orientation given in one of these ways, none for no rotation.

    rpy: (roll, pitch, yaw) with R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF.
    quat_xyzw, quat_wxyz: a quaternion of either sign, of any length but zero.
    matrix: a 3x3 rotation matrix, mended where it is a little off orthonormal.
    axis_angle: (axis, angle), or one vector whose direction is the axis and whose length is the angle.
    rotation: a scipy Rotation, or anything with `as_matrix()`.
    """
    ways = ("rpy", "quat_xyzw", "quat_wxyz", "matrix", "axis_angle", "rotation")
    given = zip(ways, (rpy, quat_xyzw, quat_wxyz, matrix, axis_angle, rotation), strict=True)
    named = [(name, value) for name, value in given if value is not None]
    if len(named) > 1:
        listed = ", ".join(name for name, _ in named)
        raise InvalidInputError(f"give the orientation in one way, not in {len(named)}: {listed}.")
    result = np.eye(4)
    result[:3, 3] = _numbers("position", position, (3,))
    for name, value in named:
        result[:3, :3] = _rotation(name, value)
    return result


def as_pose(value: PoseLike, name: str = "the pose") -> np.ndarray:
    """A checked copy of `value` as an array (..., 4, 4).

    Accepts such an array; a pair (position, orientation) whose orientation is a quaternion (x, y, z, w), a 3x3 matrix
    or a scipy Rotation; and objects with a `homogeneous` array or an `as_matrix()` method that gives 4x4.
    Rotations off by at most `ROTATION_TOLERANCE` are replaced by the nearest rotation; beyond it, and for mirrored
    rotations, values that are not finite or another bottom row than (0, 0, 0, 1), an `InvalidInputError` tells.
    """
    array = _pose_array(value, name)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise InvalidInputError(f"{name} must have shape (4, 4) or (..., 4, 4), not {array.shape}.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(f"{name} has the value {array[where]} at index {where}; all must be finite.")
    bottom = array[..., 3, :]
    if np.abs(bottom - (0.0, 0.0, 0.0, 1.0)).max(initial=0.0) > 1e-9:
        worst = bottom.reshape(-1, 4)[np.abs(bottom - (0.0, 0.0, 0.0, 1.0)).reshape(-1, 4).max(axis=1).argmax()]
        raise InvalidInputError(f"{name} must have the bottom row (0, 0, 0, 1), not {tuple(worst.tolist())}.")
    bottom[...] = (0.0, 0.0, 0.0, 1.0)
    array[..., :3, :3] = mend_rotation(array[..., :3, :3], name)
    return array


def mend_rotation(rotation: np.ndarray, name: str = "the rotation") -> np.ndarray:
    """The rotations nearest to these matrices (..., 3, 3), each off by at most `ROTATION_TOLERANCE`."""
    deviation = np.abs(np.swapaxes(rotation, -1, -2) @ rotation - np.eye(3)).max(axis=(-2, -1))
    worst = float(deviation.max(initial=0.0))
    if worst > ROTATION_TOLERANCE:
        raise InvalidInputError(
            f"{name} has a rotation part that is off orthonormal by {worst:.3g}, more than the "
            f"{ROTATION_TOLERANCE:g} that is taken for rounding and mended."
        )
    if (np.linalg.det(rotation) < 0.0).any():
        raise InvalidInputError(f"{name} has a rotation part that mirrors (determinant -1), which no rotation does.")
    if worst <= _EXACT:
        return rotation
    mended = rotation.copy()
    off = deviation > _EXACT
    part = mended[off]
    # Newton's iteration to the polar factor, that is the nearest rotation: 1e-2 -> 1e-4 -> 1e-8 -> rounding.
    for _ in range(4):
        part = part @ (1.5 * np.eye(3) - 0.5 * np.swapaxes(part, -1, -2) @ part)
    mended[off] = part
    return mended


def read_pose(table: Table) -> np.ndarray:
    """The pose in a table of a file: `position`, and one of `rpy`, `quat_xyzw` or `rotation`, a matrix."""
    position = table.numbers("position", 3, (0.0, 0.0, 0.0))
    return transform(
        position,
        rpy=table.numbers("rpy", 3) if "rpy" in table else None,
        quat_xyzw=table.numbers("quat_xyzw", 4) if "quat_xyzw" in table else None,
        matrix=np.array(table.listed("rotation"), dtype=float) if "rotation" in table else None,
    )


def inverse(pose: np.ndarray) -> np.ndarray:
    """The inverse of poses (..., 4, 4)."""
    pose = np.asarray(pose, dtype=float)
    result = np.zeros_like(pose)
    transposed = np.swapaxes(pose[..., :3, :3], -1, -2)
    result[..., :3, :3] = transposed
    result[..., :3, 3] = -np.einsum("...ij,...j->...i", transposed, pose[..., :3, 3])
    result[..., 3, 3] = 1.0
    return result


def rotation_exp(vector: ArrayLike) -> np.ndarray:
    """The rotation (..., 3, 3) about the direction of `vector` (..., 3) by its length (Rodrigues' formula)."""
    vector = np.asarray(vector, dtype=float)
    square = np.asarray(np.sum(vector * vector, axis=-1))[..., None, None]
    angle = np.asarray(np.sqrt(square))
    small = angle < 1e-4  # the series' next terms are below 1e-18 there
    divisor = np.where(small, 1.0, angle)
    first = np.where(small, 1.0 - square / 6.0, np.sin(angle) / divisor)
    second = np.where(small, 0.5 - square / 24.0, 2.0 * (np.sin(0.5 * angle) / divisor) ** 2)
    cross = np.zeros((*vector.shape, 3))
    x, y, z = np.moveaxis(vector, -1, 0)
    cross[..., 0, 1], cross[..., 0, 2], cross[..., 1, 2] = -z, y, -x
    cross[..., 1, 0], cross[..., 2, 0], cross[..., 2, 1] = z, -y, x
    return np.eye(3) + first * cross + second * (cross @ cross)


def rotation_log(rotation: ArrayLike) -> np.ndarray:
    """The rotation vector (..., 3) of rotations (..., 3, 3), of length at most pi; accurate up to half turns."""
    quaternion = quaternion_from_matrix(rotation)
    vector, scalar = quaternion[..., :3], quaternion[..., 3:]
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    small = length < 1e-12
    factor = np.where(small, 2.0, 2.0 * np.arctan2(length, scalar) / np.where(small, 1.0, length))
    return factor * vector


def matrix_from_quaternion(quaternion: ArrayLike) -> np.ndarray:
    """The rotation matrix (..., 3, 3) of quaternions (..., 4) in the order x, y, z, w, of any length but zero."""
    quaternion = np.asarray(quaternion, dtype=float)
    x, y, z, w = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True), -1, 0)
    return rotation_from_quaternion(w, x, y, z)


def quaternion_from_matrix(rotation: ArrayLike) -> np.ndarray:
    """The unit quaternion (..., 4) = (x, y, z, w) with w >= 0 of rotations (..., 3, 3).

    Four expressions for the quaternion, each scaled by one of its components, are all at hand; the one with the
    largest component is accurate.
    """
    r = np.asarray(rotation, dtype=float)
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    xy, xz, yz = r[..., 0, 1] + r[..., 1, 0], r[..., 0, 2] + r[..., 2, 0], r[..., 1, 2] + r[..., 2, 1]
    wx, wy, wz = r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]
    scaled = np.stack(
        [
            np.stack([1.0 + xx - yy - zz, xy, xz, wx], axis=-1),
            np.stack([xy, 1.0 - xx + yy - zz, yz, wy], axis=-1),
            np.stack([xz, yz, 1.0 - xx - yy + zz, wz], axis=-1),
            np.stack([wx, wy, wz, 1.0 + xx + yy + zz], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(scaled, axis1=-2, axis2=-1), axis=-1)
    chosen = np.take_along_axis(scaled, largest[..., None, None], axis=-2)[..., 0, :]
    unit: np.ndarray = chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)
    return np.asarray(np.where(unit[..., 3:] < 0.0, -unit, unit))


_IDENTITY = np.eye(4)


def pose(rotation: np.ndarray | None = None, position: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)) -> np.ndarray:
    """A read-only 4x4 pose."""
    matrix = _IDENTITY.copy()
    if rotation is not None:
        matrix[:3, :3] = rotation
    matrix[:3, 3] = position
    matrix.setflags(write=False)
    return matrix


def frozen(matrix: np.ndarray) -> np.ndarray:
    """A read-only copy."""
    copy = np.array(matrix, dtype=float)
    copy.setflags(write=False)
    return copy


def frozen_inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of one pose, read-only; it rounds as trees of joints always did, unlike `inverse`."""
    rotation = matrix[:3, :3].T
    return pose(rotation, -rotation @ matrix[:3, 3])


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), as URDF has it."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a rotation, accurate at pitch +-90 degrees too.

    Yaw is read first and the roll from what remains after Rz(-yaw), so that the three reproduce the rotation to
    rounding even where each of them is ill-defined.
    """
    r = rotation
    yaw = math.atan2(r[1, 0], r[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    roll = math.atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return roll, pitch, yaw


def rotation_about(axis: Sequence[float], angle: float) -> np.ndarray:
    """The rotation by `angle` about a unit axis."""
    x, y, z = axis
    c, s = math.cos(angle), math.sin(angle)
    t = 1.0 - c
    return np.array(
        [
            [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
            [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
            [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
        ]
    )


def rotation_from_quaternion(w: ArrayLike, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> np.ndarray:
    """The rotations (..., 3, 3) of unit quaternions, whose components are arrays (...) or numbers."""
    w, x, y, z = np.asarray(w), np.asarray(x), np.asarray(y), np.asarray(z)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def angles_from_rotation(rotation: np.ndarray, order: str) -> tuple[float, float, float]:
    """Angles (a, b, c) of intrinsic rotations about the axes `order`, such as "xyz": R = R1(a) R2(b) R3(c)."""
    i, j, k = ("xyz".index(letter) for letter in order)
    if i == k:
        return _proper_angles(rotation, i, j)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    first = math.atan2(-sign * rotation[j, k], rotation[k, k])
    c, s = math.cos(first), math.sin(first)
    second = math.atan2(sign * rotation[i, k], c * rotation[k, k] - sign * s * rotation[j, k])
    third = math.atan2(c * sign * rotation[j, i] + s * rotation[k, i], c * rotation[j, j] + sign * s * rotation[k, j])
    return first, second, third


def unit(vector: Sequence[float]) -> tuple[float, float, float] | None:
    """The vector at length 1, or None where it has no direction. One of length 1 already comes back unchanged."""
    x, y, z = (float(v) for v in vector)
    if abs(x * x + y * y + z * z - 1.0) < 1e-15:
        return (x, y, z)
    largest = max(abs(x), abs(y), abs(z))
    if not 0.0 < largest < math.inf:
        return None
    scaled = [v / largest for v in vector]  # first by the largest, so that tiny vectors do not underflow
    length = math.sqrt(sum(v * v for v in scaled))
    x, y, z = (v / length for v in scaled)
    return (x, y, z)


def _pose_array(value: PoseLike, name: str) -> np.ndarray:
    if isinstance(value, tuple | list):
        pair = cast("Sequence[ArrayLike]", value)
        if len(pair) == 2 and np.shape(pair[0]) == (3,):
            return _pose_of_pair(pair[0], pair[1], name)
    elif not isinstance(value, np.ndarray):
        if isinstance(value, HomogeneousLike):
            value = value.homogeneous
        elif isinstance(value, RotationLike):
            value = value.as_matrix()
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be an array of numbers of shape (4, 4), not {value!r:.80}.") from None


def _pose_of_pair(position: ArrayLike, orientation: ArrayLike | RotationLike, name: str) -> np.ndarray:
    if isinstance(orientation, RotationLike):
        return transform(position, rotation=orientation)
    if np.shape(orientation) == (4,):
        return transform(position, quat_xyzw=orientation)
    if np.shape(orientation) == (3, 3):
        return transform(position, matrix=orientation)
    raise InvalidInputError(
        f"{name} is a pair (position, orientation); the orientation must be a quaternion (x, y, z, w), "
        f"a 3x3 matrix or a scipy Rotation, not of shape {np.shape(orientation)}."
    )


def _rotation(kind: str, value: ArrayLike | RotationLike | tuple[ArrayLike, float]) -> np.ndarray:
    if kind == "rpy":
        return rotation_from_rpy(*_numbers("rpy", value, (3,)))
    if kind == "axis_angle":
        return rotation_exp(_rotation_vector(cast("Sequence[ArrayLike]", value)))
    if kind in ("quat_xyzw", "quat_wxyz"):
        quaternion = _numbers(kind, value, (4,))
        if not np.linalg.norm(quaternion) > 1e-9:
            raise InvalidInputError(f"{kind} has length {np.linalg.norm(quaternion):.3g}; it must not be zero.")
        return matrix_from_quaternion(quaternion if kind == "quat_xyzw" else np.roll(quaternion, -1))
    if kind == "rotation":
        if not isinstance(value, RotationLike):
            raise InvalidInputError(f"rotation must be a scipy Rotation (as_matrix()), not {type(value).__name__}.")
        value = value.as_matrix()
    return mend_rotation(_numbers(kind, value, (3, 3)), kind)


def _rotation_vector(value: Sequence[ArrayLike]) -> np.ndarray:
    if len(value) == 3 and np.ndim(value[0]) == 0:
        return _numbers("axis_angle", cast("ArrayLike", value), (3,))
    if len(value) != 2:
        raise InvalidInputError("axis_angle must be a pair (axis, angle) or one vector of three numbers.")
    axis = _numbers("the axis of axis_angle", value[0], (3,))
    length = float(np.linalg.norm(axis))
    if length < 1e-12:
        raise InvalidInputError("the axis of axis_angle has no length, so it has no direction.")
    return axis / length * float(_numbers("the angle of axis_angle", value[1], ()))


def _numbers(name: str, value: ArrayLike | RotationLike | tuple[ArrayLike, ...], shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers of shape {shape}, not {value!r:.80}.") from None
    if array.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be finite, not {array.tolist()}.")
    return array


def _proper_angles(rotation: np.ndarray, i: int, j: int) -> tuple[float, float, float]:
    k = 3 - i - j
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    first = math.atan2(rotation[j, i], -sign * rotation[k, i])
    c, s = math.cos(first), math.sin(first)
    second = math.atan2(s * rotation[j, i] - sign * c * rotation[k, i], rotation[i, i])
    third = math.atan2(
        -(sign * s * rotation[k, k] + c * rotation[j, k]) * sign, c * rotation[j, j] + sign * s * rotation[k, j]
    )
    return first, second, third
