"""Rotations and poses as the description formats write them. Poses are 4x4 and read-only, rotations 3x3."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def pose(rotation: np.ndarray | None = None, position: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)) -> np.ndarray:
    """A read-only 4x4 pose."""
    matrix = np.eye(4)
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


def inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a pose."""
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


def rotation_from_quaternion(w: float, x: float, y: float, z: float) -> np.ndarray:
    """The rotation of a unit quaternion."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def angles_from_rotation(rotation: np.ndarray, order: str) -> tuple[float, float, float]:
    """Angles (a, b, c) of intrinsic turns about the axes `order`, such as "xyz": R = R1(a) R2(b) R3(c)."""
    i, j, k = ("xyz".index(letter) for letter in order)
    if i == k:
        return _proper_angles(rotation, i, j)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    first = math.atan2(-sign * rotation[j, k], rotation[k, k])
    c, s = math.cos(first), math.sin(first)
    second = math.atan2(sign * rotation[i, k], c * rotation[k, k] - sign * s * rotation[j, k])
    third = math.atan2(c * sign * rotation[j, i] + s * rotation[k, i], c * rotation[j, j] + sign * s * rotation[k, j])
    return first, second, third


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
