"""Poses from what users have: conversions against scipy, mending, and what is refused."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.geometry.transforms import (
    ROTATION_TOLERANCE,
    as_pose,
    inverse,
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_exp,
    rotation_log,
)

seeds = st.integers(0, 2**32 - 1)
angles = st.floats(-10.0, 10.0)


def random_poses(seed: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[:, :3, 3] = rng.uniform(-2.0, 2.0, (count, 3))
    return poses.reshape(*shape, 4, 4)


@given(seed=seeds, roll=angles, pitch=angles, yaw=angles)
@settings(deadline=None)
def test_every_way_to_give_an_orientation_agrees_with_scipy(seed: int, roll: float, pitch: float, yaw: float) -> None:
    position = np.random.default_rng(seed).normal(size=3)
    rotation = Rotation.from_euler("xyz", [roll, pitch, yaw])
    x, y, z, w = rotation.as_quat() * -1.7  # either sign, any length
    vector = rotation.as_rotvec()
    angle = float(np.linalg.norm(vector))
    given_poses = [
        mk.transform(position, rpy=(roll, pitch, yaw)),
        mk.transform(position, quat_xyzw=(x, y, z, w)),
        mk.transform(position, quat_wxyz=(w, x, y, z)),
        mk.transform(position, matrix=rotation.as_matrix()),
        mk.transform(position, axis_angle=vector),
        mk.transform(position, axis_angle=(vector / angle if angle > 1e-200 else (1.0, 0.0, 0.0), angle)),
        mk.transform(position, rotation=rotation),
    ]
    for pose in given_poses:
        np.testing.assert_allclose(pose[:3, :3], rotation.as_matrix(), atol=1e-12)
        np.testing.assert_array_equal(pose[:3, 3], position)
        np.testing.assert_array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])


def test_a_transform_without_orientation_does_not_turn() -> None:
    np.testing.assert_array_equal(mk.transform((1, 2, 3))[:3], [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rpy": (0, 0, 0), "quat_xyzw": (0, 0, 0, 1)}, "one way, not in 2: rpy, quat_xyzw"),
        ({"quat_xyzw": (0, 0, 0, 0)}, "must not be zero"),
        ({"quat_wxyz": (0, 0, 1)}, r"shape \(4,\), not \(3,\)"),
        ({"rpy": (0, np.nan, 0)}, "rpy must be finite"),
        ({"rpy": "abc"}, "must be numbers"),
        ({"position": (1, 2)}, r"position must have shape \(3,\)"),
        ({"position": (1, np.inf, 0)}, "position must be finite"),
        ({"axis_angle": ((0, 0, 0), 1.0)}, "no direction"),
        ({"axis_angle": (1.0, 2.0)}, r"shape \(3,\)"),
        ({"rotation": np.eye(3)}, "must be a scipy Rotation"),
        ({"matrix": 2 * np.eye(3)}, "off orthonormal"),
        ({"matrix": np.diag([1.0, 1.0, -1.0])}, "mirrors"),
    ],
)
def test_wrong_orientations_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        mk.transform(**arguments)


@given(seed=seeds, shape=stn.array_shapes(min_dims=0, max_dims=2, max_side=3))
@settings(deadline=None)
def test_the_inverse_is_that_of_a_group(seed: int, shape: tuple[int, ...]) -> None:
    a, b = (random_poses(seed + k, shape) for k in range(2))
    np.testing.assert_allclose(a @ inverse(a), np.broadcast_to(np.eye(4), a.shape), atol=1e-12)
    np.testing.assert_allclose(inverse(a @ b), inverse(b) @ inverse(a), atol=1e-12)
    np.testing.assert_allclose(inverse(a), np.linalg.inv(a), atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-5, 9.9e-5, 1.01e-4, 0.3, 3.0, np.pi - 1e-9, np.pi])
def test_rotation_log_and_exp_are_inverse_at_any_angle(angle: float) -> None:
    axes = np.random.default_rng(0).normal(size=(200, 3))
    vectors = angle * axes / np.linalg.norm(axes, axis=1, keepdims=True)
    rotations = rotation_exp(vectors)
    np.testing.assert_allclose(rotations, Rotation.from_rotvec(vectors).as_matrix(), atol=1e-14)
    logs = rotation_log(rotations)
    assert np.linalg.norm(logs, axis=1).max() <= np.pi + 1e-12
    np.testing.assert_allclose(rotation_exp(logs), rotations, atol=1e-14)
    if angle < 3.1:
        np.testing.assert_allclose(logs, vectors, atol=1e-12)


@given(seed=seeds)
@settings(deadline=None)
def test_quaternions_and_matrices_convert_both_ways(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rotation = Rotation.random(20, rng=rng)
    half_turns = Rotation.from_rotvec(np.pi * np.eye(3))
    matrices = np.concatenate([rotation.as_matrix(), half_turns.as_matrix()])
    quaternions = quaternion_from_matrix(matrices)
    assert (quaternions[:, 3] >= 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(matrix_from_quaternion(quaternions), matrices, atol=1e-14)


def test_poses_are_taken_from_arrays_pairs_and_objects() -> None:
    pose = random_poses(1)
    rotation = Rotation.from_matrix(pose[:3, :3])
    position = pose[:3, 3]
    for value in (
        pose,
        pose.tolist(),
        (position, rotation.as_quat()),
        [position, rotation],
        (position, pose[:3, :3]),
        pinocchio.SE3(pose),
    ):
        np.testing.assert_allclose(as_pose(value), pose, atol=1e-14)
    many = random_poses(2, (3, 5))
    np.testing.assert_array_equal(as_pose(many), many)


def test_a_pose_is_copied() -> None:
    pose = random_poses(3)
    checked = as_pose(pose)
    pose[0, 3] = 99.0
    assert checked[0, 3] != 99.0


@given(seed=seeds, decimals=st.integers(3, 8))
@settings(deadline=None)
def test_a_rotation_that_was_rounded_becomes_the_nearest_rotation(seed: int, decimals: int) -> None:
    poses = random_poses(seed, (4,))
    rounded = np.round(poses, decimals)
    mended = as_pose(rounded)
    rotations = mended[:, :3, :3]
    np.testing.assert_allclose(
        rotations @ np.swapaxes(rotations, 1, 2), np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-14
    )
    u, _, vt = np.linalg.svd(rounded[:, :3, :3])
    np.testing.assert_allclose(rotations, u @ vt, atol=1e-13)
    np.testing.assert_array_equal(mended[:, :3, 3], rounded[:, :3, 3])


def test_exact_rotations_are_kept_bit_for_bit_beside_mended_ones() -> None:
    poses = random_poses(4, (3,))
    poses[1, :3, :3] *= 1.001
    mended = as_pose(poses)
    np.testing.assert_array_equal(mended[[0, 2]], poses[[0, 2]])
    assert not np.array_equal(mended[1], poses[1])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: p.__setitem__((0, 0), np.nan), r"value nan at index \(0, 0\)"),
        (lambda p: p.__setitem__((1, 3), np.inf), r"value inf at index \(1, 3\)"),
        (lambda p: p.__setitem__((3, 0), 0.5), "bottom row"),
        (lambda p: p.__imul__(2.0), "bottom row"),
        (lambda p: p[:3, :3].__imul__(1.0 + ROTATION_TOLERANCE), "off orthonormal"),
        (lambda p: p[:3, 0].__imul__(-1.0), "mirrors"),
        (lambda p: p[:3, :3].__imul__(0.0), "off orthonormal"),
    ],
)
def test_poses_that_are_not_poses_are_refused(spoil, message: str) -> None:
    pose = random_poses(5)
    spoil(pose)
    with pytest.raises(InvalidInputError, match=message):
        as_pose(pose)


@pytest.mark.parametrize("value", [np.eye(3), np.zeros(7), "pose", None, ((0, 0, 0), (1, 2)), [[1, 2], [3]]])
def test_other_shapes_and_types_are_refused(value: object) -> None:
    with pytest.raises(InvalidInputError):
        as_pose(value)


def test_an_empty_batch_of_poses_stays_empty() -> None:
    assert as_pose(np.empty((0, 4, 4))).shape == (0, 4, 4)
