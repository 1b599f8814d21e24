"""Poses as 4x4 arrays: made from what users have, checked, mended, composed, inverted.

A pose takes the child's coordinates to the parent's: p_parent = T p_child. Quaternions are (x, y, z, w) unless the
name says otherwise; metres and radians. Functions work on arrays of shape (..., 4, 4) throughout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.rotations import rotation_from_rpy

ROTATION_TOLERANCE = 1e-2
"""Largest entry of |R^T R - I| that is taken for rounding and mended; beyond it a rotation is an error.

A rotation written with three decimals is off by less than 2e-3, a scaling of half a percent by 1e-2.
"""

_EXACT = 1e-14  # deviations up to here are the rounding of double precision: left as they are, bit for bit


def transform(
    position: Any = (0.0, 0.0, 0.0),
    *,
    rpy: Any = None,
    quat_xyzw: Any = None,
    quat_wxyz: Any = None,
    matrix: Any = None,
    axis_angle: Any = None,
    rotation: Any = None,
) -> np.ndarray:
    """The pose at `position` with the orientation given in one of these ways, none for no rotation.

    rpy: (roll, pitch, yaw) with R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF.
    quat_xyzw, quat_wxyz: a quaternion of either sign, of any length but zero.
    matrix: a 3x3 rotation matrix, mended where it is a little off orthonormal.
    axis_angle: (axis, angle), or one vector whose direction is the axis and whose length is the angle.
    rotation: a scipy Rotation, or anything with `as_matrix()`.
    """
    given = {
        "rpy": rpy,
        "quat_xyzw": quat_xyzw,
        "quat_wxyz": quat_wxyz,
        "matrix": matrix,
        "axis_angle": axis_angle,
        "rotation": rotation,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InvalidInputError(f"give the orientation in one way, not in {len(named)}: {', '.join(named)}.")
    result = np.eye(4)
    result[:3, 3] = _numbers("position", position, (3,))
    if named:
        result[:3, :3] = _rotation(named[0], given[named[0]])
    return result


def as_pose(value: Any, name: str = "the pose") -> np.ndarray:
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
    deviation = _deviation(rotation)
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


def inverse(pose: np.ndarray) -> np.ndarray:
    """The inverse of poses (..., 4, 4)."""
    pose = np.asarray(pose, dtype=float)
    result = np.zeros_like(pose)
    transposed = np.swapaxes(pose[..., :3, :3], -1, -2)
    result[..., :3, :3] = transposed
    result[..., :3, 3] = -np.einsum("...ij,...j->...i", transposed, pose[..., :3, 3])
    result[..., 3, 3] = 1.0
    return result


def compose(*poses: np.ndarray) -> np.ndarray:
    """The product of poses from left to right: compose(T_ab, T_bc) = T_ac. Shapes broadcast."""
    result = np.eye(4)
    for pose in poses:
        result = result @ np.asarray(pose, dtype=float)
    return result


def rotation_exp(vector: Any) -> np.ndarray:
    """The rotation (..., 3, 3) about the direction of `vector` (..., 3) by its length (Rodrigues' formula)."""
    vector = np.asarray(vector, dtype=float)
    square = np.sum(vector * vector, axis=-1)[..., None, None]
    angle = np.sqrt(square)
    small = angle < 1e-4  # the series' next terms are below 1e-18 there
    divisor = np.where(small, 1.0, angle)
    first = np.where(small, 1.0 - square / 6.0, np.sin(angle) / divisor)
    second = np.where(small, 0.5 - square / 24.0, 2.0 * (np.sin(0.5 * angle) / divisor) ** 2)
    cross = _cross_matrix(vector)
    return np.eye(3) + first * cross + second * (cross @ cross)


def rotation_log(rotation: Any) -> np.ndarray:
    """The rotation vector (..., 3) of rotations (..., 3, 3), of length at most pi; accurate up to half turns."""
    quaternion = quaternion_from_matrix(rotation)
    vector, scalar = quaternion[..., :3], quaternion[..., 3:]
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    small = length < 1e-12
    factor = np.where(small, 2.0, 2.0 * np.arctan2(length, scalar) / np.where(small, 1.0, length))
    return factor * vector


def matrix_from_quaternion(quaternion: Any) -> np.ndarray:
    """The rotation matrix (..., 3, 3) of quaternions (..., 4) in the order x, y, z, w, of any length but zero."""
    quaternion = np.asarray(quaternion, dtype=float)
    x, y, z, w = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True), -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(rotation: Any) -> np.ndarray:
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
    unit = chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)
    return np.where(unit[..., 3:] < 0.0, -unit, unit)


def _pose_array(value: Any, name: str) -> np.ndarray:
    if hasattr(value, "homogeneous"):
        value = value.homogeneous
    elif hasattr(value, "as_matrix"):
        value = value.as_matrix()
    elif isinstance(value, tuple | list) and len(value) == 2 and np.shape(value[0]) == (3,):
        return _pose_of_pair(value[0], value[1], name)
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be an array of numbers of shape (4, 4), not {value!r:.80}.") from None


def _pose_of_pair(position: Any, orientation: Any, name: str) -> np.ndarray:
    if hasattr(orientation, "as_matrix"):
        return transform(position, rotation=orientation)
    if np.shape(orientation) == (4,):
        return transform(position, quat_xyzw=orientation)
    if np.shape(orientation) == (3, 3):
        return transform(position, matrix=orientation)
    raise InvalidInputError(
        f"{name} is a pair (position, orientation); the orientation must be a quaternion (x, y, z, w), "
        f"a 3x3 matrix or a scipy Rotation, not of shape {np.shape(orientation)}."
    )


def _rotation(kind: str, value: Any) -> np.ndarray:
    if kind == "rpy":
        return rotation_from_rpy(*_numbers("rpy", value, (3,)))
    if kind == "axis_angle":
        return rotation_exp(_rotation_vector(value))
    if kind in ("quat_xyzw", "quat_wxyz"):
        quaternion = _numbers(kind, value, (4,))
        if not np.linalg.norm(quaternion) > 1e-9:
            raise InvalidInputError(f"{kind} has length {np.linalg.norm(quaternion):.3g}; it must not be zero.")
        return matrix_from_quaternion(quaternion if kind == "quat_xyzw" else np.roll(quaternion, -1))
    if kind == "rotation":
        if not hasattr(value, "as_matrix"):
            raise InvalidInputError(
                f"rotation must be a scipy Rotation (have as_matrix()), not {type(value).__name__}."
            )
        value = value.as_matrix()
    return mend_rotation(_numbers(kind, value, (3, 3)), kind)


def _rotation_vector(value: Any) -> np.ndarray:
    if len(value) == 3 and np.ndim(value[0]) == 0:
        return _numbers("axis_angle", value, (3,))
    if len(value) != 2:
        raise InvalidInputError("axis_angle must be a pair (axis, angle) or one vector of three numbers.")
    axis = _numbers("the axis of axis_angle", value[0], (3,))
    length = float(np.linalg.norm(axis))
    if length < 1e-12:
        raise InvalidInputError("the axis of axis_angle has no length, so it has no direction.")
    return axis / length * float(_numbers("the angle of axis_angle", value[1], ()))


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers of shape {shape}, not {value!r:.80}.") from None
    if array.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be finite, not {array.tolist()}.")
    return array


def _deviation(rotation: np.ndarray) -> np.ndarray:
    return np.abs(np.swapaxes(rotation, -1, -2) @ rotation - np.eye(3)).max(axis=(-2, -1))


def _cross_matrix(vector: np.ndarray) -> np.ndarray:
    result = np.zeros((*vector.shape, 3))
    x, y, z = np.moveaxis(vector, -1, 0)
    result[..., 0, 1], result[..., 0, 2], result[..., 1, 2] = -z, y, -x
    result[..., 1, 0], result[..., 2, 0], result[..., 2, 1] = z, -y, x
    return result
