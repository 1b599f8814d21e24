"""Curves of poses: lines are straight, arcs round, rotations even, and samples leave no knot and no end out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.cartesian import TURN, arc, as_path, line, spline, waypoints


def random_poses(rng: int, count: int) -> np.ndarray:
    generator = np.random.default_rng(rng)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = generator.uniform(-0.5, 0.5, (count, 3))
    poses[:, :3, :3] = Rotation.from_rotvec(generator.uniform(-1.0, 1.0, (count, 3))).as_matrix()
    return poses


def angle(first: np.ndarray, second: np.ndarray) -> float:
    return float(Rotation.from_matrix(first[:3, :3].T @ second[:3, :3]).magnitude())


@settings(derandomize=True, max_examples=40, deadline=None)
@given(rng=st.integers(0, 10_000), s=st.floats(0.0, 1.0))
def test_a_line_is_straight_and_turns_evenly_about_one_axis(rng, s):
    first, last = random_poses(rng, 2)
    pose = line(first, last)(s)
    np.testing.assert_allclose(pose[:3, 3], first[:3, 3] + s * (last - first)[:3, 3], atol=1e-12)
    assert angle(first, pose) == pytest.approx(s * angle(first, last), abs=1e-6)
    assert angle(first, pose) + angle(pose, last) == pytest.approx(angle(first, last), abs=1e-6)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(rng=st.integers(0, 10_000), count=st.integers(2, 6))
def test_every_pose_of_a_curve_is_a_rigid_transform(rng, count):
    poses = random_poses(rng, count)
    for path in (waypoints(poses), spline(poses)):
        found = path(np.linspace(0.0, 1.0, 17))
        rotations = found[:, :3, :3]
        np.testing.assert_allclose(rotations @ rotations.swapaxes(1, 2), np.tile(np.eye(3), (17, 1, 1)), atol=1e-9)
        np.testing.assert_allclose(np.linalg.det(rotations), 1.0, atol=1e-9)
        np.testing.assert_array_equal(found[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (17, 1)))
        np.testing.assert_allclose(path(path.knots), poses, atol=1e-9)


def test_the_length_counts_metres_and_a_radian_as_so_many():
    first = mk.transform((0.0, 0.0, 0.0))
    assert line(first, mk.transform((0.3, 0.0, 0.4))).length == pytest.approx(0.5)
    assert line(first, mk.transform(rpy=(0.0, 0.0, 0.8))).length == pytest.approx(0.8 * TURN)
    assert line(first, mk.transform((0.3, 0.0, 0.4), rpy=(0.8, 0.0, 0.0))).length == pytest.approx(0.5 + 0.8 * TURN)


def test_knots_lie_in_proportion_to_the_distance():
    poses = [mk.transform((x, 0.0, 0.0)) for x in (0.0, 0.1, 0.4)]
    path = waypoints(poses)
    np.testing.assert_allclose(path.knots, [0.0, 0.25, 1.0])
    np.testing.assert_allclose(path(0.5)[:3, 3], [0.2, 0.0, 0.0], atol=1e-12)


def test_between_two_poses_of_many_the_rotation_is_that_of_the_two():
    poses = random_poses(3, 4)
    path = waypoints(poses)
    truth = Slerp(path.knots, Rotation.from_matrix(poses[:, :3, :3]))
    for s in np.linspace(0.0, 1.0, 23):
        assert angle(truth(s).as_matrix(), path(s)) < 1e-9


def test_beyond_its_ends_a_path_stays_at_them():
    first, last = random_poses(1, 2)
    path = line(first, last)
    np.testing.assert_allclose(path(-0.5), first, atol=1e-12)
    np.testing.assert_allclose(path(1.5), last, atol=1e-12)
    assert path(0.5).shape == (4, 4)
    assert path([0.5]).shape == (1, 4, 4)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(rng=st.integers(0, 10_000), count=st.integers(2, 5), step=st.floats(0.005, 0.5))
def test_samples_rise_from_zero_to_one_with_all_knots_and_no_wide_step(rng, count, step):
    path = waypoints(random_poses(rng, count))
    s = path.samples(step)
    assert s[0] == 0.0
    assert s[-1] == 1.0
    assert (np.diff(s) > 0.0).all()
    assert np.abs(s[:, None] - path.knots).min(axis=0).max() < 1e-12
    assert (np.diff(s) * path.length <= step * (1.0 + 1e-6)).all()
    assert len(s) <= path.length / step + count + 1
    poses = path(s)
    for before, after in pairwise(poses):
        moved = np.linalg.norm(after[:3, 3] - before[:3, 3]) + TURN * angle(before, after)
        assert moved <= step * (1.0 + 1e-6) + 1e-9


@pytest.mark.parametrize("step", [0.0, -1.0, np.inf, np.nan])
def test_steps_that_are_none_are_refused(step):
    with pytest.raises(InvalidInputError, match="step"):
        line(np.eye(4), mk.transform((1.0, 0.0, 0.0))).samples(step)


def on_circle(angle_of_it: float, radius: float = 0.4) -> np.ndarray:
    return mk.transform((radius * np.cos(angle_of_it), radius * np.sin(angle_of_it), 0.1))


@pytest.mark.parametrize("via", [0.3, 2.0, -1.0])
@pytest.mark.parametrize("end", [1.0, 3.0, 5.0])
def test_an_arc_goes_by_way_of_its_middle_point_whichever_way_round_that_is(via, end):
    path = arc(on_circle(0.0), on_circle(via), on_circle(end))
    points = path(np.linspace(0.0, 1.0, 721))[:, :3, 3]
    np.testing.assert_allclose(np.hypot(points[:, 0], points[:, 1]), 0.4, atol=1e-9)
    assert np.linalg.norm(points - on_circle(via)[:3, 3], axis=1).min() < 3e-3
    np.testing.assert_allclose(points[[0, -1]], [on_circle(0.0)[:3, 3], on_circle(end)[:3, 3]], atol=1e-9)
    ahead = via % (2.0 * np.pi) < end
    assert path.length == pytest.approx(0.4 * (end if ahead else 2.0 * np.pi - end))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-6)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(rng=st.integers(0, 10_000))
def test_an_arc_in_space_keeps_its_distance_from_one_centre_and_its_plane(rng):
    first, via, last = random_poses(rng, 3)
    path = arc(first, via[:3, 3], last)
    points = path(np.linspace(0.0, 1.0, 400))[:, :3, 3]
    a, b, c = (pose[:3, 3] for pose in (first, via, last))
    normal = np.cross(b - a, c - a)
    np.testing.assert_allclose((points - a) @ normal / np.linalg.norm(normal), 0.0, atol=1e-9)
    # The centre is as far from all three: two equations of the plane's own coordinates.
    matrix = np.stack([b - a, c - a, normal])
    centre = a + np.linalg.solve(matrix, [0.5 * (b - a) @ (b - a), 0.5 * (c - a) @ (c - a), 0.0])
    np.testing.assert_allclose(np.linalg.norm(points - centre, axis=1), np.linalg.norm(a - centre), atol=1e-6)
    assert np.linalg.norm(points - b, axis=1).min() < 0.01 * path.length


def test_an_arc_turns_evenly_from_its_first_rotation_to_its_last():
    first = on_circle(0.0)
    last = on_circle(1.0) @ mk.transform(rpy=(0.0, 0.0, 1.2))
    path = arc(first, on_circle(0.5), last)
    assert angle(first, path(0.25)) == pytest.approx(0.3, abs=1e-9)
    assert path.length == pytest.approx(max(0.4, 1.2 * TURN))


@pytest.mark.parametrize("via", [(0.5, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_three_points_on_a_line_are_no_arc(via):
    with pytest.raises(InvalidInputError, match="must not lie on a line"):
        arc(np.eye(4), via, mk.transform((1.0, 0.0, 0.0)))


@pytest.mark.parametrize("via", [(0.5, 0.5), (0.5, np.nan, 0.0), np.eye(3)])
def test_a_middle_that_is_no_point_is_refused(via):
    with pytest.raises(InvalidInputError, match="via is a pose or a point"):
        arc(np.eye(4), via, mk.transform((1.0, 0.0, 0.0)))


def test_a_spline_has_no_corners_and_its_turning_no_jumps():
    path = spline(random_poses(8, 5))
    s, h = np.linspace(0.05, 0.95, 181), 1e-4
    knots = path.knots[1:-1]
    before, after = (path(knots + side)[:, :3, 3] for side in (-h, h))
    at = path(knots)[:, :3, 3]
    np.testing.assert_allclose((at - before) / h, (after - at) / h, atol=0.02)
    turning = [
        Rotation.from_matrix(a.T @ b).as_rotvec() / h
        for a, b in zip(path(s)[:, :3, :3], path(s + h)[:, :3, :3], strict=True)
    ]
    assert np.linalg.norm(np.diff(turning, axis=0), axis=1).max() < 0.5


def test_a_spline_of_two_poses_is_the_line_between_them():
    first, last = random_poses(2, 2)
    np.testing.assert_allclose(spline([first, last])(0.3), line(first, last)(0.3), atol=1e-12)


def test_a_pose_that_repeats_the_one_before_is_refused_by_its_number():
    a, b = random_poses(4, 2)
    with pytest.raises(InvalidInputError, match="poses 1 and 2 of the path are the same"):
        waypoints([a, b, b])


@pytest.mark.parametrize("poses", [[np.eye(4)], [], [np.eye(4), np.eye(3)], [np.eye(4), 2.0 * np.eye(4)]])
def test_what_is_no_list_of_poses_is_refused(poses):
    with pytest.raises(InvalidInputError):
        waypoints(poses)


def test_a_path_stays_as_it_is_and_poses_become_lines():
    poses = random_poses(5, 3)
    path = waypoints(poses)
    assert as_path(path) is path
    np.testing.assert_allclose(as_path(poses)(0.4), path(0.4))
